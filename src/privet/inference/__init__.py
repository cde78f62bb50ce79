"""Intervals on released numbers. Nothing here sees data."""
