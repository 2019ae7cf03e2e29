"""The project that skills speak of, and agents that put them to the proof, on this machine."""
