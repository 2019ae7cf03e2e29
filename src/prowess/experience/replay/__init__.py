"""Bash scripts that do the steps of a trace again."""
