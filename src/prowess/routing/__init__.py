"""From a message to ranked skills, with reasons; pure, so that vectors come in as arguments."""
