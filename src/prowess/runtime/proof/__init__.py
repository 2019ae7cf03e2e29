"""Checks and proofs of skills as services: freshness, lift, and tests of many skills."""
