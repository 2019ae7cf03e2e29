"""Commands that show whether skills hold, help and are found."""
