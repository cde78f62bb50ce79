"""What is read from released numbers: aggregates, steps over released rows, intervals, notes. Sees no data."""
