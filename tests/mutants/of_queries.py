"""Breakages of how a question is read and what is known of it: facts, joins, what stays within one unit."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "engines/strings.py",
        "adversarial/test_exhaustion.py",
        ('return _cut(" || ".join(', 'return (" || ".join('),
    ),
    *of(
        "engines/evaluation.py",
        "adversarial/test_exhaustion.py",
        ("for value in values)[:LONGEST],", "for value in values),"),
    ),
    *of(
        "query/shape.py",
        "adversarial/test_join_keys.py",
        (" and _told_apart(right.columns[right.key or", " and bool(right.columns[right.key or"),
        ("-_EXACT <= end <= _EXACT for end", "-_EXACT <= end for end"),
    ),
    *of(
        "query/resolve.py",
        "adversarial/test_exhaustion.py",
        ("if parts_in(expression, {}) > MOST_PARTS:", "if parts_in(expression, {}) > MOST_PARTS**2:"),
    ),
    *of(
        "query/rules.py",
        "unit/query/test_expression_facts.py",
        ("argument.constant is not None and not argument.typed.nullable for", "not argument.typed.nullable for"),
        ("nullable=x.nullable or low is None or not defined(low)", "nullable=x.nullable"),
        ("return whole(*ends, nullable=x.nullable, step", "return whole(*x.ends, nullable=x.nullable, step"),
    ),
    *of(
        "query/typed.py",
        "unit/query/test_expression_facts.py",
        ("low = None if any(end is None for end in lows) else min(lows)", "low = None if None in lows else max(lows)"),
        ("        low = high = Fraction(0)\n    low = None", "        pass\n    low = None"),
    ),
    *of(
        "engines/fits.py",
        "adversarial/test_session_road.py",
        ("(statement if scan.places is None else counting)(scan, relation, 0)", "return"),
        ("(statement if scan.places is None else counting)(scan", "if scan.places is None:\n        statement(scan"),
    ),
    *of(
        "road.py",
        "adversarial/test_session_road.py",
        ("        self._check_scans([plan])\n", ""),
        ("        self._check_scans(batch.releases)\n", ""),
    ),
    *of(
        "query/intervals.py",
        "unit/query/test_expression_facts.py",
        ("return min(corners), max(corners)\n\n\ndef divide", "return corners[0], corners[-1]\n\n\ndef divide"),
        ("return Fraction(0), (None if low is None or high is None else max(-low, high))", "return Fraction(0), high"),
        ("corners = [low, high] + ([Fraction(0)] if low <= 0 <= high else [])", "corners = [low, high]"),
        ("return near if near <= x else Fraction(math.nextafter(float(x), -math.inf))", "return near"),
    ),
    *of(
        "query/intervals.py",
        "laws/test_engine_facts.py",
        ("low, high = outward(add(x, (HALF, HALF)))", "low, high = add(x, (HALF, HALF))"),
    ),
    *of(
        "query/typed.py",
        "laws/test_engine_facts.py",
        ("return outward(self.bounds)", "return self.bounds"),
    ),
    *of(
        "query/facts.py",
        "unit/query/test_expression_facts.py",
        ("values=values, nullable=known.nullable)", "values=values, nullable=False)"),
        (
            "values = tuple(range(int(first), int(last) + 1, known.step))",
            "values = tuple(range(int(first), int(last), known.step))",
        ),
    ),
    *of(
        "query/within.py",
        "unit/query/test_expression_facts.py",
        ("ends = (most * min(low, Fraction(0)), most * max(high, Fraction(0)))", "ends = (min(low, 0), max(high, 0))"),
        ("least = 1 if one.where is None else 0", "least = 1"),
        ("nullable = known.nullable or one.where is not None", "nullable = known.nullable"),
    ),
    *of(
        "query/resolve.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("    if person in mentions(one):\n        advice", "    if False:\n        advice"),
        ("    if not typed(one, source.typical).bounded:", "    if False:"),
        ('    if one == Column(person or ""):', "    if False:"),
    ),
    *of(
        "query/build.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        ("    if asked.order or asked.limit is not None or asked.offset:", "    if False:"),
        (
            "    if asked.keys or asked.having is not None or any(has_aggregate(one) for _, one in asked.outputs):",
            "    if False:",
        ),
        ("    table = with_cuts(source.table, source.tables, used)", "    table = source.table"),
    ),
    *of(
        "query/sql.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("        if depth + run > MOST_NESTED:", "        if False:"),
        ('    if any(token.token_type.name == "SEMICOLON" for token in kept):', "    if False:"),
        ("            check_tree(tree, NAMES)\n", ""),
        ("    _check_arguments(tokens)\n", ""),
    ),
    *of(
        "query/sql_clauses.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ('            if value and name.rstrip("_") not in understood:', "            if False:"),
        ("        if depth > most:", "        if False:"),
    ),
    *of(
        "query/sql_from.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        ('    if side not in {"", "LEFT", "RIGHT"} or kind not in {"", "INNER", "OUTER", "CROSS"}:', "    if False:"),
        ('    return "left" if side == "LEFT" else "right" if side == "RIGHT" else "inner"', '    return "inner"'),
    ),
    *of(
        "query/sql_select.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        ('isinstance(others, Private) and person == Column(relation.owner or ""):', "isinstance(others, Private):"),
        ('        if node.args.get("distinct"):', "        if False:"),
        ("if not outermost and stays_within(relation, asked) else", "if not outermost else"),
    ),
    *of(
        "query/sql_expressions.py",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("    if len(of) != 1:", "    if False:"),
        ("    if scope.owner is not None and of == [Column(scope.owner)]:", "    if scope.owner is not None:"),
    ),
    *of(
        "engines/expressions.py",
        "unit/engines/test_expression_contracts.py",
        ("safe = held and not rule(expression.function, full).nullable", "safe = True"),
        ('"and": _chain("AND"),', '"and": _chain("OR"),'),
    ),
    *of(
        "engines/expressions.py",
        "laws/test_clamps.py",
        ("held = all(rendered.held for rendered in several)", "held = True"),
    ),
    *of(
        "engines/arithmetic.py",
        "unit/engines/test_expression_contracts.py",
        ('return fit(f"(CAST({x} AS HUGEINT) {operator} CAST({y} AS HUGEINT))")', 'return f"({x} {operator} {y})"'),
        ('return f"({x} / {y})" if safe else finite(bind, f"({x} / {y})")', 'return f"({x} / {y})"'),
    ),
    *of(
        "engines/rendered.py",
        "unit/engines/test_expression_contracts.py",
        ('return bind(sql, lambda x: f"CASE WHEN isfinite({x}) THEN {x} END")', "return sql"),
        ('return f"TRY_CAST({sql} AS BIGINT)"', 'return f"CAST({sql} AS BIGINT)"'),
    ),
    *of(
        "engines/strings.py",
        "unit/engines/test_expression_contracts.py",
        ('return fit(f"regexp_extract({x}, {_WHOLE_TEXT}, 1)")', 'return f"CAST({x} AS BIGINT)"'),
        ('return finite(bind, f"TRY_CAST(', 'return (f"TRY_CAST('),
    ),
    *of(
        "engines/moments.py",
        "unit/engines/test_expression_contracts.py",
        (
            'return bind(sql, lambda x: f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {moved.format(x=x)} END")',
            "return bind(sql, lambda x: moved.format(x=x))",
        ),
        (
            "return f\"TRY_CAST(regexp_extract({sql}, {quoted(f'^{_DATE_TEXT}$')}) AS DATE)\"",
            'return f"CAST({sql} AS DATE)"',
        ),
    ),
    *of(
        "engines/grid.py",
        "unit/engines/test_grid.py",
        ("= 2 * q * b, p * b - 2 * q * a, 2 * p * b", "= 2 * q * b, p * b - q * a, 2 * p * b"),
        (
            "low = floor(total.origin + (total.low - 1) * total.step)",
            "low = floor(total.origin + (total.low + 1) * total.step)",
        ),
    ),
    *of(
        "engines/duckdb.py",
        "adversarial/test_engine_safety.py",
        ('        self._fetch("SET enable_external_access = false")\n', ""),
        ('        self._fetch("SET lock_configuration = true")\n', ""),
        ("                raise_alone(EngineError())", "                raise"),
    ),
    *of(
        "engines/text.py",
        "adversarial/test_engine_safety.py",
        ('return "\'" + text.replace("\'", "\'\'") + "\'"', 'return "\'" + text + "\'"'),
        ("        text.encode()\n", "        pass\n"),
    ),
    *of(
        "core/scan.py",
        "unit/core/test_scan.py",
        (
            "corners = [self.low, self.high] + ([0] if self.low < 0 < self.high else [])",
            "corners = [self.low, self.high]",
        ),
        ("return max(abs(low), abs(high))", "return abs(high)"),
    ),
    *of(
        "core/budget.py",
        "unit/accounting/test_budget.py",
        ('        object.__setattr__(self, "delta", open_probability(self.delta, "delta"))\n', ""),
        ('        object.__setattr__(self, "rho", positive(self.rho, "rho"))\n', "        pass\n"),
    ),
    *of(
        "core/schema.py",
        "unit/core/test_scan.py",
        ('            if self.neighbors != "change-one":', "            if False:"),
    ),
    *of(
        "several.py",
        "adversarial/test_batches.py",
        ("        if replace(wish, within=None, confidence=None, find=False) != Wish():", "        if False:"),
    ),
]
