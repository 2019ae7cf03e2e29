"""All that writes below a folder of skills, each in one way that can be undone."""
