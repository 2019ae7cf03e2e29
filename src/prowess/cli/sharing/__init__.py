"""Commands that add, lock, verify, update and publish skills, and explain policies."""
