"""What a text in plain language asks for, by words and cues."""
