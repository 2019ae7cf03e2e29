"""What shell commands do."""
