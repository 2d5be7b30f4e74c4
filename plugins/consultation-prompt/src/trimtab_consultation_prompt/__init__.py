"""Guidance for LLM agents: suggests to ask for help when nudges have not helped."""
