"""Writes a scan as SQL: generated names, declared constants and quoted literals only."""
