"""The steps from older schemas to the newest, oldest first."""
