"""The shapes that clients see; camelCase is spelled only here."""
