"""Whether a skill still holds and whether it helps: claims, tasks, grades, statistics. Pure."""
