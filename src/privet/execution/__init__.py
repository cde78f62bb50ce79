"""From a question to its answer: look it up, charge, read, draw, store."""
