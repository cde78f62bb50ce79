"""Answers from released numbers: aggregates, steps over released rows, intervals, notes. Reads no data."""
