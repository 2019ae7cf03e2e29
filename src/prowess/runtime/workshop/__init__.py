"""Proposals from suggestion to skill, and the way back."""
