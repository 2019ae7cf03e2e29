"""From what an agent did to a draft, a replay and a lesson: pure, no files and no clock."""
