"""One PostgreSQL server with the made-up visits, for all workers of a run: who needs it first starts it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from data import HOME, visits

SETTINGS = {"shared_buffers": "1GB", "max_parallel_workers_per_gather": "0", "jit": "off", "work_mem": "64MB"}
"""One processor for each statement, so that processor time can be compared."""


@cache
def address(rows: int) -> str:
    """Return the address of a role that may read the visits."""
    place = HOME / f"postgres-{rows}.json"
    with contextlib.suppress(OSError, ValueError, ProcessLookupError):
        known = json.loads(place.read_text())
        os.kill(known["process"], 0)
        return str(known["url"])
    return _start(rows, place)


def _start(rows: int, place: Path) -> str:
    import duckdb

    from postgres_server import PostgresServer

    source, lines = visits(rows), HOME / f"visits-{rows}.csv"
    server = PostgresServer(settings=SETTINGS)
    atexit.register(lambda: (server.remove(), place.unlink(missing_ok=True)))
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{source}') TO '{lines}' (FORMAT csv, HEADER false)")
    import psycopg

    name = server.create_database()
    with psycopg.connect(server.url(name), autocommit=True) as owner:
        owner.execute("CREATE TABLE visits (person bigint, city text, amount float8, age integer)")
        with open(lines, "rb") as file, owner.cursor().copy("COPY visits FROM STDIN (FORMAT csv)") as copy:
            while block := file.read(2**20):
                copy.write(block)
        owner.execute("VACUUM ANALYZE visits")
        owner.execute(f'REVOKE TEMPORARY ON DATABASE "{name}" FROM PUBLIC')  # type: ignore[arg-type]
        owner.execute("CREATE ROLE reader LOGIN")
        owner.execute("GRANT SELECT ON visits TO reader")
    lines.unlink()
    url = server.url(name, "reader")
    place.write_text(json.dumps({"process": os.getpid(), "url": url}))
    return url


def timed(process: int, work: Callable[[], Any]) -> dict[str, float]:
    """Return what some work took, with the processor time of the server's process."""
    import time

    before, began = _spent(process), time.perf_counter()
    work()
    return {"seconds": time.perf_counter() - began, "cpu": _spent(process) - before}


def _spent(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
