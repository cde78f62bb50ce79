"""Breakages of what rules groups out: conditions, public tables, and the engines that are held to it."""

from __future__ import annotations

from mutant import Mutant, of

_LAW = "laws/test_groups_allowed.py"

MUTANTS: list[Mutant] = [
    *of(
        "planner.allowed:_Groups._values",
        _LAW,
        ("(*values, None)", "tuple(values)"),
        ("over == ColumnRef(name) and key.values is not None", "False"),
        ("facts = replace(facts, values=None, low=Fraction(min(ends)), high=Fraction(max(ends)))", "pass"),
    ),
    *of(
        "planner.allowed:_allowed",
        _LAW,
        ("hidden or all(_is_product(factor) for factor in factors)", "True"),
        ("by_way[0] if len(by_way) == 1 else _either(by_way, public)", "by_way[0]"),
    ),
    *of(
        "planner.allowed:_Groups._compared",
        _LAW,
        (
            'expression.function not in {"equal", "not_equal", "in"} or len(others) < len(expression.arguments) - 1',
            "len(others) < len(expression.arguments) - 1",
        ),
    ),
    *of(
        "planner.allowed:_Groups._equated",
        _LAW,
        ('(*sorted(compared, key=str), "".join(map(str, compared)) + "?", None)', "(*sorted(compared, key=str),)"),
    ),
    *of(
        "planner.allowed:_ends",
        _LAW,
        ("_beyond(facts, value, up=below)", "_beyond(facts, _beyond(facts, value, up=below), up=below)"),
        ("max(values)", "min(values)"),
    ),
    *of(
        "planner.allowed:_Tracer.of",
        _LAW,
        (
            "match relation:\n"
            "    case str():\n"
            "        ...\n"
            "    case Derive():\n"
            "        ...\n"
            "    case Join(kind='inner'):\n"
            "        ...\n"
            "    case Join():\n"
            "        ...\n"
            "    case GroupWithin():\n"
            "        ...\n"
            "    case Rank():\n"
            "        ...\n"
            "    case Union():\n"
            "        ...",
            "match relation:\n"
            "    case str():\n"
            "        ...\n"
            "    case Derive():\n"
            "        ...\n"
            "    case Join():\n"
            "        ...\n"
            "    case Join():\n"
            "        ...\n"
            "    case GroupWithin():\n"
            "        ...\n"
            "    case Rank():\n"
            "        ...\n"
            "    case Union():\n"
            "        ...",
        ),
    ),
    *of(
        "planner.allowed:_Tracer._made",
        _LAW,
        (
            "None if _may_be_clamped(expression, facts[name], source) else _over(expression, way.columns)",
            "_over(expression, way.columns)",
        ),
    ),
    *of(
        "planner.allowed:_Tracer._joined",
        _LAW,
        ("product(self.of(join.left), self.of(join.right))", "[(self.of(join.left)[0], self.of(join.right)[0])]"),
    ),
    *of(
        "engines.duckdb.public:",
        _LAW,
        ('("true", "true", "true")', '("false", "true", "true")'),
    ),
    *of(
        "engines.duckdb.public:_Conditions._truths",
        _LAW,
        ("return false, true, null", "return true, false, null"),
        ('null, _any((true, false)), "false"', '"false", _any((true, false)), "false"'),
    ),
    *of(
        "engines.duckdb.public:_Conditions._first",
        _LAW,
        ("n if null else passed", '"false"'),
    ),
    *of(
        "engines.scan_sql.statement:Writer._allowed",
        f"{_LAW}::test_an_engine_drops_rows_of_combinations_that_are_no_groups",
        ("[] if self.scan.cells is None else [self._in_cells(self.scan.cells)]", "[]"),
    ),
    *of(
        "testing.oracle:_counted",
        f"{_LAW}::test_an_engine_drops_rows_of_combinations_that_are_no_groups",
        ("scan.cells is not None and cell[: len(scan.cells[0])] not in cells", "False"),
    ),
    *of(
        "testing.oracle:Memory.public_rows",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("not schema.unit.public", "False"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.public_rows",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("not schema.unit.public", "False"),
    ),
    *of(
        "core.schema:Schema.__post_init__",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("self.contents is not None and not self.unit.public", "False"),
    ),
    *of(
        "execution.request:with_contents",
        f"{_LAW}::test_the_rows_of_a_private_table_are_never_listed",
        ("schema.unit.public", "True"),
    ),
    *of(
        "planner.verify:_verify_cells",
        f"{_LAW}::test_a_plan_whose_groups_are_not_combinations_of_its_keys_is_refused",
        ("not cells or not whole or len(set(cells)) < len(cells) or plan.discovers", "False"),
        (
            "not cells or not whole or len(set(cells)) < len(cells) or plan.discovers",
            "not cells or not whole or plan.discovers",
        ),
    ),
    *of(
        "planner.keys:to_be_found",
        "unit/planner/test_found_groups.py",
        ("replace(query, find=True, where=conjunction(query.where, *held))", "replace(query, find=True)"),
    ),
    *of(
        "planner.make:scan_keys",
        "unit/planner/test_found_groups.py",
        ("replace(key, values=None) if query.find else key", "key"),
    ),
    *of(
        "planner.make:_grouped",
        "unit/planner/test_found_groups.py",
        ("not query.find", "True"),
    ),
    *of(
        "planner.allowed:_held",
        "laws/test_groups_allowed.py",
        ("len(values) > MOST_KEYS", "False"),
        ("tuple(sorted(values - {None}))", "tuple(sorted(values - {None}))[1:]"),
    ),
    *of(
        "planner.make:_group",
        "unit/planner/test_found_groups.py",
        ("not draft.spend.keys or draft.query.other is not None", "True"),
    ),
    *of(
        "query.build:by_distinct",
        "unit/planner/test_groups_alone.py",
        ("replace(asked, keys=keys)", "replace(asked, keys=keys[:1])"),
    ),
    *of(
        "planner.explain:listed_lines",
        "unit/planner/test_groups_alone.py",
        ("plan.readings or any((asks(pass_.scan) for pass_ in plan.passes))", "plan.readings"),
    ),
]
