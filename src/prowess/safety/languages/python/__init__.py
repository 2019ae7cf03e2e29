"""What Python code does."""
