"""The tables of what each engine runs are those of the dialects."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from engine_tables import DIALECTS, PAGE, SCANS, runs, with_tables


def test_the_page_shows_what_the_dialects_have():
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "run .venv/bin/python tests/docs/engine_tables.py"


def test_every_engine_runs_every_kind_of_scan():
    missing = {(name, dialect.name) for name, scan in SCANS.items() for dialect in DIALECTS if not runs(scan, dialect)}
    assert missing == set()
