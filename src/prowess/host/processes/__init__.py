"""The only code that starts child processes, and what it finds out about programs."""
