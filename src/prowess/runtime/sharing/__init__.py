"""Adding, updating and checking shared skills, and copies of them, over ports."""
