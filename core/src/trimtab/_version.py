"""The version of every distribution of the project."""

__version__ = "0.1.0"
