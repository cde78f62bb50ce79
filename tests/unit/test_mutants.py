"""The list of mutants is in step with the code: each finds its text, once, and names tests that exist."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutants"))

from run import MUTANTS  # noqa: E402


def test_each_mutant_finds_its_text_exactly_once() -> None:
    files = {mutant.file: (ROOT / "src" / "privet" / mutant.file).read_text(encoding="utf-8") for mutant in MUTANTS}
    lost = [f"{mutant.file}: {mutant.old}" for mutant in MUTANTS if files[mutant.file].count(mutant.old) != 1]
    assert lost == []


def test_each_mutant_changes_something_and_names_tests_that_exist() -> None:
    assert [mutant.file for mutant in MUTANTS if mutant.old == mutant.new] == []
    tests = {test.split("::")[0] for mutant in MUTANTS for test in mutant.tests}
    assert [test for test in tests if not (ROOT / test).exists()] == []


FEWEST = 2
"""So many ways to break it has every file that privacy rests on."""

ROOMS = {
    "core": "budget exact links rounding scan schema sensitivity unit",
    "engines": "arithmetic duckdb expressions fits grid links moments owners places relations rendered sql strings "
    "text values weights within",
    "ledger": "account chain checks codec custody place sqlite",
    "planner": "accuracy batch discover keys make plan selections stability verify wanted",
    "query": "build facts fanout inside intervals join origin resolve rules shape sql sql_clauses "
    "sql_expressions sql_from sql_select typed within",
    "": "release road session several",
}
"""Files that must hold for an answer to be private, by their rooms, beside those that say so themselves."""

PRIVATE = {f"{room}/{name}.py".removeprefix("/") for room, names in ROOMS.items() for name in names.split()}


def test_every_file_that_privacy_rests_on_has_mutants_of_its_own() -> None:
    source = ROOT / "src" / "privet"
    claims = {str(file.relative_to(source)) for file in source.rglob("*.py") if "Guarantee:" in file.read_text("utf-8")}
    many = Counter(mutant.file for mutant in MUTANTS)
    assert [file for file in sorted(claims | PRIVATE) if many[file] < FEWEST] == []
    assert [file for file in PRIVATE if not (source / file).exists()] == []
