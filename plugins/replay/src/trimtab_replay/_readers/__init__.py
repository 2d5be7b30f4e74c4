"""One module per format; each offers one reader, named as an entry point."""
