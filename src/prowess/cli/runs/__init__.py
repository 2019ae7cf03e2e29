"""Commands around a run: prompt, environment, slash commands, installs and the chat."""
