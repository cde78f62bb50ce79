"""Breakages of the ledger in PostgreSQL: its lock, its rights, its durability, what is decided after a lost commit."""

from __future__ import annotations

from mutant import Mutant, of

RIGHTS = "adversarial/test_postgres_rights.py"
FAULTS = "adversarial/test_postgres_faults.py"
PLACES = "unit/ledger/test_postgres_ledger.py"

MUTANTS: list[Mutant] = [
    *of(
        "ledger.postgres.postgres_ledger:PostgresStore._begin",
        RIGHTS,
        ("if alone: ...", "if False: ..."),
    ),
    *of(
        "ledger.postgres.postgres_ledger:PostgresStore._resolve",
        FAULTS,
        ("if not landed: ...", "if False: ..."),
        ("landed = transaction.has(inserted)", "landed = False"),
    ),
    *of(
        "ledger.postgres.postgres_ledger:check_server",
        RIGHTS,
        ("if value != 'on': ...", "if False: ..."),
        ("found.synchronous_commit != 'on'", "False"),
        ("found.system != found.known_system", "False"),
        ("found.timeline != found.known_timeline", "False"),
        ("if found.standby: ...", "if False: ..."),
    ),
    *of(
        "ledger.postgres.postgres_ledger:lock_id",
        RIGHTS,
        ("f'privet ledger {ledger}'", "'privet ledger'"),
    ),
    *of(
        "ledger.postgres.postgres_rows:PostgresTransaction.has",
        FAULTS,
        ("(row[0], row[1]) == (inserted.hash, inserted.transaction)", "row[0] == inserted.hash"),
    ),
    *of(
        "ledger.postgres.postgres_rows:check_role",
        RIGHTS,
        ("excess is None or excess[0] is not False", "False"),
        ("not allowed[0]", "False"),
    ),
    *of(
        "ledger.postgres.postgres_rows:check_made",
        RIGHTS,
        ("tables != _MADE", "False"),
        ("triggers != _guards(schema)", "False"),
        ("unique != ['answers', 'entries_pkey', 'keys']", "False"),
    ),
    *of(
        "ledger.postgres.server_address:read_address",
        PLACES,
        ("options |= encryption_of(given)", "pass"),
        ("encryption_of(given)", "encryption_of({})"),
    ),
    *of(
        "core.server_hosts:encryption_of",
        "unit/ledger/test_postgres_ledger.py",
        ("all(map(_stays_here, hosts_of(stated)))", "any(map(_stays_here, hosts_of(stated)))"),
        ("{'sslmode': 'verify-full'}", "{'sslmode': 'require'}"),
    ),
    *of(
        "core.server_hosts:_stays_here",
        PLACES,
        ("host == 'localhost'", "host.startswith('localhost')"),
    ),
    *of(
        "ledger.postgres.postgres_ledger:PostgresLedger.adopt",
        FAULTS,
        ("hashed != pinned.hash", "False"),
    ),
    *of(
        "ledger.postgres.postgres_ledger:_check_never_begun",
        PLACES,
        ("rows.cached() is not None", "False"),
    ),
    *of(
        "ledger.postgres.postgres_ledger:_fill",
        PLACES,
        ("rows.hash_at(1) is not None", "False"),
    ),
    *of(
        "ledger.admin:copy_rows",
        PLACES,
        ("target.keep(charge, text)", "pass"),
    ),
    *of(
        "config.reading:_url",
        PLACES,
        ("read_address(value).has_password", "False"),
    ),
]
