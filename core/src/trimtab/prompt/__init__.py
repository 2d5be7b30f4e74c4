"""Prompts: what is declared, what is bound, what the model reads."""
