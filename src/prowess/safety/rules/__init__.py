"""The rule table: what each finding means, what to do about it, and texts that prove it."""
