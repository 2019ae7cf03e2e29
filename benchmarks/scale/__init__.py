"""How parts of Prowess grow with what they hold."""
