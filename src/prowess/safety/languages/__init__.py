"""Readers of code and data: each says what a text does, as facts, and judges nothing."""
