"""Claude Code's settings files and plugin folders: what is written there, and taken out again."""
