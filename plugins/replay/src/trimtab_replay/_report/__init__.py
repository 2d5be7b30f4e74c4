"""A report of replayed runs: one HTML file that needs nothing else."""
