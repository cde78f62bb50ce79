"""The server: one process with the data, the ledger and the accounts, which answers over HTTP.

Needs the extra `server`. Nothing here decides about privacy: questions are planned, charged and released by sessions.
"""
