"""The made-up hospital, and the questions that the demo asks of it."""
