"""Mutants of what threads and sessions share: turns at a ledger, connections of an engine, and who closes them."""

from __future__ import annotations

from mutant import of

THREADS = "adversarial/test_threads.py"
FAILING = "adversarial/test_threads_that_fail.py"

MUTANTS = [
    *of(
        "execution.executor:Turns.turn",
        THREADS,
        ("with lock: yield", "yield"),
        ("os.getpid() != self._process", "False"),
        ("self._turns.pop(digest, None)", "pass"),
    ),
    *of(
        "execution.executor:turns_of",
        THREADS,
        ("_TURNS.setdefault(ledger, Turns())", "Turns()"),
    ),
    *of(
        "execution.executor:Executor.turn",
        THREADS,
        ("self._turns.turn(digest)", 'self._turns.turn("")'),
        ("self._running.append(here)", "self._running.append(0)\nhere = 0"),
    ),
    *of(
        "execution.executor:Executor.close",
        FAILING,
        ("self._changed.wait_for(lambda: here not in self._running)", "pass"),
    ),
    *of(
        "execution.executor:Executor._read_scans",
        FAILING,
        ("self.ledger.fail(receipt)", "pass"),
    ),
    *of(
        "execution.executor:Executor._stored_batch",
        "adversarial/test_batches.py unit/planner/test_editions.py",
        ("self._charge_batch(made, key)", "pass"),
    ),
    *of(
        "execution.batches:run_batch",
        THREADS,
        (
            "with executor.turn(batch.digest): kept = executor.release_batch(batch, key)",
            "kept = executor.release_batch(batch, key)",
        ),
    ),
    *of(
        "execution.run_stages:run_rounds",
        THREADS,
        ("executor.turn(part.digest)", "executor.turn(str(id(held)))"),
    ),
    *of(
        "execution.executor:Executor.release",
        THREADS,
        ("receipt.answered", "False"),
    ),
    *of(
        "execution.executor:Executor.release_batch",
        THREADS,
        ("receipt.answered", "False"),
    ),
    *of(
        "ledger.bookkeeping:Bookkeeping.charge",
        "conformance/test_ledgers.py",
        (
            "_receipt(history, history.append(charge, now), digest, account, answered=answer is not None)",
            "_receipt(history, history.append(charge, now), digest, account, answered=False)",
        ),
    ),
    *of(
        "session:Session._reads",
        THREADS,
        (
            "return cast(Engine, engine)",
            "self._closing.callback(cast(Engine, engine).close)\nreturn cast(Engine, engine)",
        ),
    ),
    *of(
        "engines.duckdb.engine:Lane.__init__",
        THREADS,
        ("connection.interrupt", "lambda: None"),
    ),
    *of(
        "engines.duckdb.engine:_made_lane",
        THREADS,
        ("cursor = database.cursor()", "cursor = database"),
        ("Lane(cursor, seconds)", "Lane(database, seconds)"),
    ),
    *of(
        "engines.duckdb.engine:Lanes._renew",
        THREADS,
        ("threading.Semaphore(self._most)", "threading.Semaphore(self._most + 1)"),
    ),
    *of(
        "engines.duckdb.engine:Lanes.close",
        THREADS,
        ("self._free.acquire()", "pass"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.__init__",
        THREADS,
        ("1 if alone else most", "most"),
        ("self._lanes if alone else Lanes(1, make)", "self._lanes"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB._open",
        THREADS,
        ("self._fetch(\"SET GLOBAL TimeZone = 'UTC'\")", "self._fetch(\"SET TimeZone = 'UTC'\")"),
        ('self._fetch("SET GLOBAL pandas_analyze_sample = 0")', 'self._fetch("SET pandas_analyze_sample = 0")'),
    ),
    *of(
        "engines.duckdb.engine:DuckDB._lock_down",
        THREADS,
        (
            'self._fetch("SET GLOBAL python_enable_replacements = false")',
            'self._fetch("SET python_enable_replacements = false")',
        ),
    ),
]
