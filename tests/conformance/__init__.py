"""Every behaviour of the skills specification, each with an id, a source and a test."""
