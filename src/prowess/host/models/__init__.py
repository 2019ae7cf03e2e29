"""Encoders, judges, language models and reviewers, on this machine or behind an address."""
