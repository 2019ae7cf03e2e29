"""`workshop`: what was learned, reviewed by a person, and turned into skills."""
