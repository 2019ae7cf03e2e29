"""Where skills are found: roots, folders of harnesses, discovery and watching."""
