"""From a skill's text to what the model sees. Pure: the world enters as arguments."""
