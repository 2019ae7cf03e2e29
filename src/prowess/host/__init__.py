"""Adapters: each implements one port of `runtime` on the real machine."""
