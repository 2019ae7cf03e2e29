"""What agents propose to remember: changes to skills, and what became of them. Pure."""
