"""Breakages of tables in PostgreSQL: snapshots, guards, the role's rights, what tables may be, encryption."""

from __future__ import annotations

from mutant import Mutant, of

BAD = "adversarial/test_postgres_bad_input.py"
FUNCTIONS = "unit/engines/test_postgres_functions.py"
SCANS = "conformance/test_postgres_engine.py"
COMMANDS = "e2e/test_postgres_commands.py"

MUTANTS: list[Mutant] = [
    *of(
        "engines.postgres.postgres_engine:",
        BAD,
        ("BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'", "BEGIN = 'BEGIN READ ONLY'"),
        (
            "BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'",
            "BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ'",
        ),
    ),
    *of(
        "engines.postgres.postgres_engine:PostgresEngine.snapshot",
        BAD,
        ("self._local.held = held", "self._local.held = None"),
    ),
    *of("execution.executor:Executor._snapshot", BAD, ("isinstance(self.engine, TakesSnapshots)", "False")),
    *of(
        "engines.postgres.postgres_engine:role_problems",
        BAD,
        ("superuser or bypass or creates", "False"),
        ("if temporary: ...", "if False: ..."),
    ),
    *of(
        "engines.postgres.stored_tables:_problems",
        BAD,
        ("kind not in ('r', 'p')", "False"),
        ("persistence != 'p' or any((part[1] != 'p' for part in parts))", "False"),
        ("secured or any((part[2] for part in parts))", "False"),
        ("inherited and kind == 'r'", "False"),
        ("any((part[0] not in ('r', 'p') for part in parts))", "False"),
        ("if writable: ...", "if False: ..."),
    ),
    *of(
        "engines.postgres.stored_tables:_unread",
        BAD,
        ("not column.deterministic", "False"),
        ("column.type == 'bpchar'", "False"),
    ),
    *of(
        "engines.postgres.reader_address:read_options",
        BAD,
        ("options | encryption_of(stated)", "options"),
        ("encryption_of(stated)", "encryption_of({})"),
    ),
    *of(
        "engines.dialects.postgres_forms:fits",
        FUNCTIONS,
        (
            "f'{x} >= -9223372036854775808 AND {x} < 9223372036854775808'",
            "f'{x} >= -9223372036854775808 AND {x} <= 9223372036854775808'",
        ),
    ),
    *of("engines.dialects.postgres_forms:_middle", FUNCTIONS, ("_power(-500)", "_power(-600)")),
    *of("engines.dialects.postgres_forms:_to_number", FUNCTIONS, ("inputs[0].kind == 'text'", "False")),
    *of(
        "engines.dialects.postgres:PostgresDialect.grid",
        SCANS,
        ("factor < 1 if not scale.divides else factor > 1", "False"),
        ("double(0.5)", "double(0)"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._norm_by_window",
        SCANS,
        ("'n' if norm.order == 1 else self._square(norm)", "'n'"),
    ),
    *of(
        "config.engine_kinds:PracticeEngine.check",
        COMMANDS,
        ("write_scan(scan, self._tables, self._relations, 0, self._asked_of)", ""),
    ),
]
