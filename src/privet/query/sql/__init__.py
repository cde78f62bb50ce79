"""SQL text, read into our own tree or refused by name. Only this package meets the SQL parser."""
