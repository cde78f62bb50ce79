"""The list of mutants is in step with the code: each finds its code, once, and names tests that exist."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutants"))

import edit  # noqa: E402
from edit import Lost, edited, find, parse  # noqa: E402
from run import MUTANTS  # noqa: E402

SOURCE = ROOT / "src" / "privet"


def test_each_mutant_finds_its_code_exactly_once() -> None:
    lost: list[str] = []
    for mutant in MUTANTS:
        file = mutant.file(SOURCE)
        if not file.exists():
            lost.append(f"{mutant.address}: there is no {file.relative_to(ROOT)}")
            continue
        try:
            many = len(find(file.read_text("utf-8"), mutant.address.partition(":")[2], mutant.old, mutant.new))
        except Lost as error:
            lost.append(f"{mutant.address}: {error}")
        else:
            if many != 1:
                lost.append(f"{mutant.address}: {many} times: {mutant.old}")
    assert lost == []


def test_each_mutant_changes_something_and_names_tests_that_exist() -> None:
    assert [mutant.address for mutant in MUTANTS if _written(mutant.old) == _written(mutant.new)] == []
    tests = {test.split("::")[0] for mutant in MUTANTS for test in mutant.tests}
    assert [test for test in tests if not (ROOT / test).exists()] == []


def _written(snippet: str) -> list[str]:
    return [ast.dump(statement) for statement in parse(snippet)]


FEWEST = 2
"""The fewest mutants of every module that privacy rests on."""

PRIVATE = {
    "core.budget",
    "core.numbers",
    "core.schema",
    "core.scan",
    "core.unit",
    "engines.dialects.duckdb",
    "engines.duckdb.engine",
    "engines.scan_sql.dialect",
    "engines.scan_sql.statement",
    "engines.scan_sql.row_values",
    "engines.scan_sql.relations",
    "ledger.account",
    "ledger.codec",
    "ledger.fold",
    "ledger.admin",
    "ledger.sqlite.place",
    "ledger.sqlite.store",
    "planner.rounds",
    "planner.batch",
    "planner.keys",
    "planner.make",
    "planner.plan",
    "planner.selections",
    "planner.stability",
    "planner.verify",
    "query.build",
    "query.join",
    "query.inside",
    "query.expressions",
    "query.typed",
    "query.shape",
    "query.resolve",
    "query.sql.parse",
    "query.sql.clauses",
    "query.sql.translate",
    "query.sql.select",
    "release",
    "execution.executor",
    "execution.batches",
}
"""Modules that must hold for an answer to be private, beside those that say so themselves."""


def test_every_module_that_privacy_rests_on_has_mutants_of_its_own() -> None:
    modules = {_module(file): file.read_text("utf-8") for file in SOURCE.rglob("*.py")}
    claims = {module for module, text in modules.items() if "Guarantee:" in text}
    many = Counter(mutant.module for mutant in MUTANTS)
    assert [module for module in sorted(claims | PRIVATE) if many[module] < FEWEST] == []
    assert sorted(PRIVATE - modules.keys()) == []


def _module(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


CODE = '''\
"""A module."""

LIMIT = 2  # at most


def twice(value: int, times: int = 2) -> int:
    """Return it."""
    if (
        value > LIMIT
    ):
        raise ValueError(f"more than {LIMIT}")
    value += 1
    return value * times


class Box:
    size: int = 2

    def grown(self) -> int:
        def more(size: int) -> int:
            return size + 1

        try:
            return more(self.size)
        except ValueError:
            return 0
        finally:
            check(self.size)

    def check(self) -> None:
        check(self.size)
'''


@pytest.mark.parametrize(
    ("qualname", "old", "new", "before", "after"),
    [
        ("twice", "value>LIMIT", "False", "value > LIMIT", "False"),
        ("twice", "value += 1", "", "    value += 1\n", "    \n"),
        (
            "twice",
            "value += 1\nreturn value*times",
            "return value",
            "value += 1\n    return value * times",
            "return value",
        ),
        ("twice", "def twice(value: int, times: int = 2) -> int: ...", "def twice(value: int) -> int: ...", "", ""),
        ("", "LIMIT = 2", "LIMIT = 3", "LIMIT = 2", "LIMIT = 3"),
        ("Box", "size: int = 2", "size: int = 3", "size: int = 2", "size: int = 3"),
        ("Box.grown.more", "size + 1", "size", "size + 1", "size"),
        ("Box.check", "check(self.size)", "pass", "None:\n        check(self.size)", "None:\n        pass"),
        ("Box.check", "check(self.size)", "", "None:\n        check(self.size)", "None:\n        pass"),
    ],
)
def test_code_is_found_by_its_tree_in_the_definition_that_is_named(
    qualname: str, old: str, new: str, before: str, after: str
) -> None:
    result = edited(CODE, qualname, old, new)
    compile(result, "mutant", "exec")
    if before:
        assert _normal(result) == _normal(
            CODE.replace("(\n        value > LIMIT\n    )", "value > LIMIT").replace(before, after)
        )
    else:
        assert "def twice(value: int) -> int" in result
        assert "return value * times" in result
    assert "# at most" in result or not qualname


def _normal(code: str) -> str:
    return ast.unparse(ast.parse(code))


def test_bodies_are_kept_where_the_snippet_leaves_them_out() -> None:
    old = "try: ...\nexcept ValueError: ...\nfinally: ..."
    result = edited(CODE, "Box.grown", old, "try: ...\nexcept KeyError: ...\nfinally: ...")
    assert _normal(result) == _normal(CODE.replace("except ValueError", "except KeyError"))


@pytest.mark.parametrize(
    ("qualname", "old"),
    [
        ("thrice", "value > LIMIT"),  # no such definition
        ("twice", "value >= LIMIT"),  # no such code
        ("Box.grown", "size + 1"),  # in a definition inside
        ("Box", "check(self.size)"),
        ("", "value > LIMIT"),
        ("Box.check", "value"),
        ("twice", "LIMIT"),  # twice
    ],
)
def test_code_that_is_not_there_once_is_lost(qualname: str, old: str) -> None:
    with pytest.raises(Lost):
        edited(CODE, qualname, old, "0")


def test_constants_of_another_type_are_not_equal() -> None:
    with pytest.raises(Lost, match="0 times"):
        edited("x = f(1)\n", "", "f(True)", "f(2)")
    assert edited("x = f(1) + f(True)\n", "", "f(True)", "f(2)") == "x = f(1) + f(2)\n"


def test_code_is_replaced_in_the_tree_in_which_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "_parsed", ast.parse)  # as when another thread makes the cache forget a tree
    assert edited("x = f(1)\n", "", "f(1)", "f(2)") == "x = f(2)\n"
    assert edited("x = 1\ny = 2\n", "", "y = 2", "y = 3") == "x = 1\ny = 3\n"
