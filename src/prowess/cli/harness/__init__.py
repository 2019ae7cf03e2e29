"""Commands for the coding agents that you already run."""
