"""From bytes to texts that can be read: file types, decoding, folding, Markdown."""
