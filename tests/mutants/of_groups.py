"""Breakages of what rules groups out: conditions, public tables, and the engines that are held to it."""

from __future__ import annotations

from mutant import Mutant, of

_LAW = "laws/test_groups_allowed.py"

MUTANTS: list[Mutant] = [
    *of(
        "planner/allowed.py",
        _LAW,
        ("return None if values is None else (*values, None)", "return None if values is None else tuple(values)"),
        ("if over == Column(name) and key.values is not None:", "if False:"),
        ("facts = replace(facts, values=None, low=Fraction(min(ends)), high=Fraction(max(ends)))", "pass"),
        ("if hidden or all(_is_product(factor) for factor in factors):", "if True:"),
        ("factors = several[0] if len(several) == 1 else _either(several, public)", "factors = several[0]"),
        ('if one.function not in {"equal", "not_equal", "in"} or', "if"),
        ('(*sorted(compared, key=str), "".join(map(str, compared)) + "?", None)', "(*sorted(compared, key=str),)"),
    ),
    *of(
        "planner/narrowed.py",
        _LAW,
        (
            "value = _beyond(facts, value, up=below)",
            "value = _beyond(facts, _beyond(facts, value, up=below), up=below)",
        ),
        ("return min(values), max(values)", "return min(values), min(values)"),
    ),
    *of(
        "query/traced.py",
        _LAW,
        ('case Join(kind="inner"):', "case Join():"),
        ("None if _may_be_clamped(one, facts[name], source) else _over", "_over"),
        (
            "for left, right in product(self.of(join.left), self.of(join.right)):",
            "for left, right in [(self.of(join.left)[0], self.of(join.right)[0])]:",
        ),
    ),
    *of(
        "engines/possible.py",
        _LAW,
        ('_ANY = ("true", "true", "true")', '_ANY = ("false", "true", "true")'),
        ("return false, true, null", "return true, false, null"),
        ('return null, _any((true, false)), "false"', 'return "false", _any((true, false)), "false"'),
        ("before.append(n if null else passed)", 'before.append("false")'),
    ),
    *of(
        "engines/sql.py",
        f"{_LAW}::test_an_engine_drops_rows_of_combinations_that_are_no_groups",
        ("tests += [] if self.scan.cells is None else [self._in_cells(self.scan.cells)]", "tests += []"),
    ),
    *of(
        "engines/memory.py",
        f"{_LAW}::test_an_engine_drops_rows_of_combinations_that_are_no_groups",
        ("if scan.cells is not None and cell[: len(scan.cells[0])] not in cells:", "if False:"),
    ),
    *of(
        "engines/memory.py",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("if not isinstance(schema.unit, Nobody):", "if False:"),
    ),
    *of(
        "engines/duckdb.py",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("if not isinstance(schema.unit, Nobody):", "if False:"),
    ),
    *of(
        "core/schema.py",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("if self.contents is not None and not isinstance(self.unit, Nobody):", "if False:"),
    ),
    *of(
        "asked.py",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("if isinstance(schema.unit, Nobody):\n            found[name]", "if True:\n            found[name]"),
    ),
    *of(
        "planner/verify.py",
        f"{_LAW}::test_a_plan_whose_groups_are_not_combinations_of_its_keys_is_refused",
        ("if not cells or not whole or len(set(cells)) < len(cells) or plan.discovers:", "if False:"),
        ("if not cells or not whole or len(set(cells)) < len(cells)", "if not cells or not whole"),
    ),
    *of(
        "planner/keys.py",
        "unit/planner/test_found_groups.py",
        ("replace(query, find=True, where=conjunction(query.where, *held))", "replace(query, find=True)"),
    ),
    *of(
        "planner/make.py",
        "unit/planner/test_found_groups.py",
        ("replace(key, values=None) if query.find else key for key", "key for key"),
        ("(keys, None) if query.find else allowed_groups(", "allowed_groups("),
    ),
]
