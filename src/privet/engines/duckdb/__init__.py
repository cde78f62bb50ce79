"""DuckDB, inside the process: its engine, its sources, and a custodian's look at them."""
