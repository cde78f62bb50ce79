"""Where charges are recorded. The one in memory lasts as long as its process."""
