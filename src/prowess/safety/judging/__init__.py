"""From facts to findings: judges see what happens, never a text in a language."""
