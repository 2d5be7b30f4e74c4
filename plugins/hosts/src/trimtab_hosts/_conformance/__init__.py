"""The conformance kits of the frameworks; each imports its framework where it plays."""
