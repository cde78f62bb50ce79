"""The server: one process that holds the data, the ledger and the accounts, and answers over HTTP.

Needs the extra `server`. Nothing here decides about privacy: questions are planned, charged and released by sessions.
"""
