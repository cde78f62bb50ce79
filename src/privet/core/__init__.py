"""Values and protocols that every other room speaks in. Standard library only."""
