"""PostgreSQL, where the data stays: the address of a server, tables in it, scans inside it, and a custodian's look."""
