"""Small types that hosts and providers share: time, limits, tools, resources."""
