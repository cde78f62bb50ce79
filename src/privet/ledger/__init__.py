"""Where charges and answers are recorded: in memory, as long as the process lasts, or in a file that survives it."""
