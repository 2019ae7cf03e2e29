"""Text and file sets to findings, and the pure rules of every guard."""
