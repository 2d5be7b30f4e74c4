"""What is kept on disk: where, under which lock, and how it is read back."""
