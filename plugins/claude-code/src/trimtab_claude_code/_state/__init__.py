"""What is kept on disk: where, for how long, and how it is read back."""
