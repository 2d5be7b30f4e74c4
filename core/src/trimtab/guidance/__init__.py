"""Short, situational instructions at decision points (seed 000)."""
