"""The list of mutants is in step with the code: each finds its text, once, and names tests that exist."""

from __future__ import annotations

import sys
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
