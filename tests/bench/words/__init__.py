"""A benchmark of the words that providers use, on a real model; see README.md."""
