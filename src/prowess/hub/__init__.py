"""A registry of skills: one catalogue, its rights, its search, and the protocols that it speaks."""
