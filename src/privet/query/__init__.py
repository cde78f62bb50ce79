"""Questions as our own tree, read from SQL or built in Python, with no engine and no privacy decision in it."""
