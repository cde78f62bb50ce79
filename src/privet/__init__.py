"""Privet answers questions about private data with differential privacy."""

__version__ = "0.1.0"
