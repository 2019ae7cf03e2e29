"""Logs of agents and people, read once per format: turns, sessions and traces."""
