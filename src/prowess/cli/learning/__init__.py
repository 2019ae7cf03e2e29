"""Commands that learn from sessions and traces, and show that it works."""
