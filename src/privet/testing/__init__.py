"""What anyone who writes an engine, a ledger, a mechanism or an aggregate can test it with."""
