"""Breakages of how a question is read and what is known of it: facts, joins, what stays within one unit."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "query.sql.quartiles:_read",
        "unit/query/test_quartiles.py",
        ("_grouped(outer, ranked) != ranked.groups", "False"),
        ("not pairs or (asked is not None and _counts(outer, pairs))", "not pairs"),
    ),
    *of(
        "query.sql.quartiles:_edge",
        "unit/query/test_quartiles.py",
        ("abs(at - share * of) > _CLOSE", "False"),
    ),
    *of(
        "query.sql.quartiles:_counts_same",
        "unit/query/test_quartiles.py",
        ("_source(inner, name) == _source(select, name)", "True"),
    ),
    *of(
        "query.sql.rewrites:settle_given",
        "unit/query/test_given.py",
        ("given.now.date() if name.upper() in _DAYS else given.now", "given.now"),
        ("given.values.keys() - used", "[]"),
    ),
    *of(
        "query.sql.rewrites:_value",
        "unit/query/test_given.py",
        ("not isinstance(literal, Literal)", "False"),
    ),
    *of(
        "query.resolve:side_by_side",
        "unit/query/test_kinds.py",
        ("len(distinct) < 2", "False"),
        ("kind == 'text' and not argument.is_constant", "False"),
    ),
    *of(
        "query.resolve:_read_number",
        "unit/query/test_kinds.py",
        (
            'folded("to_integer", [expression]) or folded("to_number", [expression])',
            'folded("to_number", [expression])',
        ),
    ),
    *of(
        "query.intervals:divide_whole",
        "laws/test_engine_facts.py unit/engines/test_expression_contracts.py",
        ("return -size, size", "return x"),
    ),
    *of(
        "engines.dialects.duckdb:_divide_whole",
        "unit/engines/test_expression_contracts.py",
        ('f"CASE WHEN {y} <> 0 THEN {wide} // {y} END"', 'f"{wide} // {y}"'),
    ),
    *of(
        "query.typed:format_date",
        "unit/query/test_synonyms.py",
        ('daily or x.kind == "date"', "not daily"),
    ),
    *of(
        "query.sql.synonyms:is_same",
        "unit/query/test_synonyms.py",
        ("Literal(False) if _sure(x) or _sure(y) else nothing", "Literal(False)"),
    ),
    *of(
        "query.sql.parse:mark",
        "unit/query/test_sql_reading.py",
        ("blamed(error)", "None"),
        ("max(0, min(column - _WIDEST // 2, len(line) - _WIDEST))", "0"),
    ),
    *of(
        "query.sql.rewrites:find_table",
        "unit/query/test_names.py",
        ("len(before) <= len(words) and all(map(_means, before, words[len(words) - len(before) :]))", "True"),
        ("[schema] if schema is not None else [PUBLIC, exact[0]]", "[schema or PUBLIC, PUBLIC, exact[0]]"),
    ),
    *of(
        "query.sql.rewrites:_means",
        "unit/query/test_names.py",
        ("word == name if quoted else word.casefold() == name.casefold()", "word.casefold() == name.casefold()"),
    ),
    *of(
        "query.sql.from_clause:_named",
        "unit/query/test_names.py",
        ("None if identifier.args.get(DECLARED) else find(places.ctes, identifier)", "find(places.ctes, identifier)"),
    ),
    *of(
        "core.given:check_cases",
        "unit/query/test_names.py",
        ("other != name", "False"),
    ),
    *of(
        "query.typed:epoch_us",
        "laws/test_engine_facts.py",
        ("Fraction(dates.microseconds(end))", "Fraction(dates.microseconds(end) // 2)"),
    ),
    *of(
        "query.resolve:_fit_durations",
        "unit/test_date_answers.py",
        ('call("date_diff", Literal("day"), y, x)', 'call("date_diff", Literal("day"), x, y)'),
        ("return days.arguments[0]", "return days"),
    ),
    *of(
        "results.read:as_moments",
        "unit/test_date_answers.py",
        ("math.ceil(held * size) if up else math.floor(held * size)", "math.floor(held * size)"),
    ),
    *of(
        "engines.dialects.duckdb:_concat",
        "adversarial/test_exhaustion.py",
        (
            'cut_text(" || ".join(cut_text(as_kind(rendered, "text")) for rendered in inputs))',
            '" || ".join(cut_text(as_kind(rendered, "text")) for rendered in inputs)',
        ),
    ),
    *of(
        "query.functions:",
        "adversarial/test_exhaustion.py",
        ('"".join(value[:LONGEST] for value in values)[:LONGEST]', '"".join(value[:LONGEST] for value in values)'),
    ),
    *of(
        "query.shape:on_key",
        "adversarial/test_join_keys.py",
        (
            '_told_apart(right.columns[right.key or ""], other, left)',
            'bool(right.columns[right.key or ""], other, left)',
        ),
    ),
    *of(
        "query.shape:_told_apart",
        "adversarial/test_join_keys.py",
        ("-_EXACT <= end <= _EXACT", "-_EXACT <= end"),
    ),
    *of(
        "query.resolve:fitted",
        "adversarial/test_exhaustion.py",
        ("parts_in(expression, {}) > MOST_PARTS", "parts_in(expression, {}) > MOST_PARTS**2"),
    ),
    *of(
        "query.typed:extreme",
        "unit/query/test_expression_facts.py",
        ("argument.constant is not None and not argument.typed.nullable", "not argument.typed.nullable"),
    ),
    *of(
        "query.typed:partial.apply",
        "unit/query/test_expression_facts.py",
        ("x.nullable or low is None or not defined(low)", "x.nullable"),
    ),
    *of(
        "query.typed:bin_of",
        "unit/query/test_expression_facts.py",
        ("*ends", "*x.ends"),
    ),
    *of(
        "query.typed:hull",
        "unit/query/test_expression_facts.py",
        ("None if any(end is None for end in lows) else min(lows)", "None if None in lows else max(lows)"),
    ),
    *of(
        "query.typed:real",
        "unit/query/test_expression_facts.py",
        ("low = high = Fraction(0)", "pass"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.check",
        "adversarial/test_session_order.py",
        ("self._checked[id(scan)] = scan, self._written(scan)", "pass"),
        (
            "self._checked[id(scan)] = scan, self._written(scan)",
            "if scan.places is None: self._checked[id(scan)] = scan, self._written(scan)",
        ),
    ),
    *of(
        "engines.scan_sql.statement:write_scan",
        "golden/test_generated_sql.py",
        (
            "relation_sql(scan.table, tables, names, secret, dialect)",
            "relation_sql(scan.table, tables, names, 0, dialect)",
        ),
        ("scan.places is not None", "False"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.scan",
        "unit/engines/test_check.py",
        ("self._checked.pop(id(scan), None)", "self._checked.get(id(scan), None)"),
        ("self._written(scan) if checked is None else checked[1]", "self._written(scan)"),
    ),
    *of(
        "testing.oracle:Memory.check",
        "unit/engines/test_check.py",
        ("write_scan(scan, self._tables, {name: name for name in self._tables}, 0, _UNREAD)", "pass"),
    ),
    *of(
        "execution.executor:Executor.release",
        "adversarial/test_session_order.py",
        ("self._check_scans([plan])", ""),
    ),
    *of(
        "execution.executor:Executor.release_batch",
        "adversarial/test_session_order.py",
        ("self._check_scans(batch.releases)", ""),
    ),
    *of(
        "query.intervals:multiply",
        "unit/query/test_expression_facts.py",
        ("min(corners), max(corners)", "corners[0], corners[-1]"),
    ),
    *of(
        "query.intervals:absolute",
        "unit/query/test_expression_facts.py",
        ("None if low is None or high is None else max(-low, high)", "high"),
    ),
    *of(
        "query.intervals:power",
        "unit/query/test_expression_facts.py",
        ("[low, high] + ([Fraction(0)] if low <= 0 <= high else [])", "[low, high]"),
    ),
    *of(
        "query.intervals:down",
        "unit/query/test_expression_facts.py",
        ("near if near <= x else Fraction(math.nextafter(float(x), -math.inf))", "near"),
    ),
    *of(
        "query.intervals:rounded",
        "laws/test_engine_facts.py",
        ("outward(add(x, (HALF, HALF)))", "add(x, (HALF, HALF))"),
    ),
    *of(
        "query.typed:Typed.doubles",
        "laws/test_engine_facts.py",
        ("outward(self.bounds)", "self.bounds"),
    ),
    *of(
        "query.shape:as_facts",
        "unit/query/test_expression_facts.py",
        ("known.nullable", "False"),
        ("int(last) + 1", "int(last)"),
    ),
    *of(
        "query.shape:group_facts",
        "unit/query/test_expression_facts.py",
        ("(most * min(low, Fraction(0)), most * max(high, Fraction(0)))", "(min(low, 0), max(high, 0))"),
        ("1 if one.where is None and not empty else 0", "1"),
        ("known.nullable or one.where is not None or empty", "known.nullable"),
    ),
    *of(
        "query.resolve:check_key",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("person in mentions(key)", "False"),
    ),
    *of(
        "query.resolve:check_argument",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("not typed_where(argument, source.limited, conditions).bounded", "False"),
        ('argument == ColumnRef(person or "")', "False"),
    ),
    *of(
        "query.build:narrowed",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        ("asked.limit is not None or bool(asked.offset)", "False"),
    ),
    *of(
        "query.build:refined",
        "unit/test_released_rows.py",
        ("bool(asked.keys) or asked.having is not None or any(map(has_aggregate, released))", "False"),
    ),
    *of(
        "query.build:aggregated",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        ("with_cuts(source.table, source.tables, used)", "source.table"),
    ),
    *of(
        "query.sql.parse:_check_tokens",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("depth + run > MOST_NESTED", "False"),
    ),
    *of(
        "query.sql.parse:_one_statement",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ('any(token.token_type.name == "SEMICOLON" for token in kept)', "False"),
    ),
    *of(
        "query.sql.parse:_read_tree",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("check_nodes(nodes, NAMES)", ""),
    ),
    *of(
        "query.sql.parse:_tree",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("_check_arguments(tokens)", ""),
    ),
    *of(
        "query.sql.clauses:_check_node",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ('value and name.rstrip("_") not in understood', "False"),
    ),
    *of(
        "query.sql.clauses:check_depth",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("depth > most", "False"),
    ),
    *of(
        "query.sql.from_clause:_kind",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        (
            'side not in {"", "LEFT", "RIGHT", "FULL"} or kind not in {"", "INNER", "OUTER" if side else "", "CROSS"}',
            "False",
        ),
        ('typing.cast(Side, side.lower() or "inner")', '"inner"'),
    ),
    *of(
        "query.sql.nested:Lookups.members",
        "unit/query/test_several_tables.py",
        ("list(nested.outputs) == owner", "True"),
    ),
    *of(
        "query.sql.select:_together",
        "unit/query/test_several_tables.py",
        ('deduplicated(made, "UNION") if merges[0] else made', "made"),
    ),
    *of(
        "query.sql.select:_select",
        "adversarial/test_own_hostile_sql.py unit/query/test_several_tables.py",
        ("outermost or not stays_within(relation, asked)", "outermost"),
    ),
    *of(
        "query.sql.translate:_different",
        "adversarial/test_own_hostile_sql.py unit/query/test_sql_reading.py",
        ("len(of) != 1", "False"),
        ("scope.owner is not None and of == [ColumnRef(scope.owner)]", "scope.owner is not None"),
    ),
    *of(
        "engines.scan_sql.dialect:Renderer.render",
        "unit/engines/test_expression_contracts.py",
        ("held and not rule(expression.function, full).nullable", "True"),
    ),
    *of(
        "engines.scan_sql.dialect:",
        "unit/engines/test_expression_contracts.py",
        ('_chain("AND")', '_chain("OR")'),
    ),
    *of(
        "engines.scan_sql.dialect:Renderer.render",
        "laws/test_clamps.py",
        ("all(rendered.held for rendered in inputs)", "True"),
    ),
    *of(
        "engines.dialects.duckdb:_arithmetic.method",
        "unit/engines/test_expression_contracts.py",
        ('fit(f"(CAST({x} AS HUGEINT) {operator} CAST({y} AS HUGEINT))")', 'f"({x} {operator} {y})"'),
    ),
    *of(
        "engines.dialects.duckdb:_divide",
        "unit/engines/test_expression_contracts.py",
        ('f"({x} / {y})" if safe else finite(bind, f"({x} / {y})")', 'f"({x} / {y})"'),
    ),
    *of(
        "engines.dialects.duckdb:finite",
        "unit/engines/test_expression_contracts.py",
        ('bind(sql, lambda x: f"CASE WHEN isfinite({x}) THEN {x} END")', "sql"),
    ),
    *of(
        "engines.dialects.duckdb:fit",
        "unit/engines/test_expression_contracts.py",
        ("'TRY_CAST('", "'CAST('"),
    ),
    *of(
        "engines.dialects.duckdb:_to_integer",
        "unit/engines/test_expression_contracts.py",
        ('fit(f"regexp_extract({x}, {_WHOLE_TEXT}, 1)")', 'f"CAST({x} AS BIGINT)"'),
    ),
    *of(
        "engines.dialects.duckdb:_to_number",
        "unit/engines/test_expression_contracts.py",
        (
            'finite(bind, f"TRY_CAST(regexp_extract({inputs[0].sql}, {_NUMBER_TEXT}, 1) AS DOUBLE)")',
            'f"TRY_CAST(regexp_extract({inputs[0].sql}, {_NUMBER_TEXT}, 1) AS DOUBLE)"',
        ),
    ),
    *of(
        "engines.dialects.duckdb:_shift.method",
        "unit/engines/test_expression_contracts.py",
        ('f"CASE WHEN {x} >= {low} AND {x} <= {high} THEN {moved.format(x=x)} END"', "moved.format(x=x)"),
    ),
    *of(
        "engines.dialects.duckdb:_to_date",
        "unit/engines/test_expression_contracts.py",
        ("f\"TRY_CAST(regexp_extract({sql}, {quoted(f'^{_DATE_TEXT}$')}) AS DATE)\"", 'f"CAST({sql} AS DATE)"'),
    ),
    *of(
        "engines.scan_sql.row_values:line",
        "unit/engines/test_grid.py",
        ("2 * q * a", "q * a"),
        ("total.low - 1", "total.low + 1"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB._lock_down",
        "adversarial/test_engine_safety.py",
        ('self._fetch("SET GLOBAL enable_external_access = false")', ""),
        ('self._fetch("SET GLOBAL lock_configuration = true")', ""),
    ),
    *of(
        "engines.duckdb.engine:_executed",
        "adversarial/test_engine_safety.py",
        ("raise_alone(EngineError())", "raise"),
    ),
    *of(
        "engines.scan_sql.dialect:quoted",
        "adversarial/test_engine_safety.py",
        ('text.replace("\'", "\'\'")', "text"),
        ("text.encode()", "pass"),
    ),
    *of(
        "core.scan:Sum.ends",
        "unit/core/test_scan.py",
        ("[self.low, self.high] + ([0] if self.low < 0 < self.high else [])", "[self.low, self.high]"),
    ),
    *of(
        "core.scan:Sum.most",
        "unit/core/test_scan.py",
        ("max(abs(low), abs(high))", "abs(high)"),
    ),
    *of(
        "core.budget:Approximate.__init__",
        "unit/accounting/test_budget.py",
        ('open_probability(delta, "delta")', "delta"),
    ),
    *of(
        "core.budget:Zcdp.__init__",
        "unit/accounting/test_budget.py",
        ('positive(rho, "rho")', "rho"),
    ),
    *of(
        "core.schema:Schema.__post_init__",
        "unit/core/test_scan.py",
        ('self.neighbors != "change-one"', "False"),
    ),
    *of(
        "execution.batches:_read_plain",
        "adversarial/test_batches.py",
        ("replace(wish, within=None, confidence=None, find=False) != Wish()", "False"),
    ),
    *of(
        "query.sql.from_clause:_says_none",
        "laws/test_anti_joins.py",
        ("not typed(shown[name], item.rows.schema.columns).nullable", "True"),
        ("reader.place(column) != place", "False"),
    ),
    *of(
        "query.sql.from_clause:_used_elsewhere",
        "laws/test_anti_joins.py",
        ("reader.place(node) in {place, None}", "False"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.list_public",
        "unit/test_public_questions.py",
        ("name in self._tables and self._tables[name].unit.public", "name in self._tables"),
        ("len(fetched) <= most", "len(fetched) <= most + 1"),
    ),
    *of(
        "planner.public_plan:verify_public",
        "unit/test_public_questions.py",
        ("PublicPlan.of(plan.query, tables).schemas != plan.schemas", "False"),
    ),
    *of(
        "planner.public_plan:listings",
        "unit/test_public_questions.py",
        ("(query, *query.others)", "(query,)"),
    ),
    *of(
        "query.build:listed",
        "unit/test_public_questions.py",
        ("conjunction(source.where, where)", "where"),
        ("replace(asked, where=None)", "replace(asked, where=None, limit=None)"),
    ),
    *of(
        "planner.rounds:share_of",
        "unit/test_questions_in_steps.py",
        ("Fraction(1, count)", "Fraction(1)"),
        ("spend.delta * part", "spend.delta"),
    ),
    *of(
        "execution.run_stages:run_steps",
        "unit/test_questions_in_steps.py",
        ("_admit_steps(executor, plan)", ""),
        ("(*values, answer.series[0].values[0])", "(*values, 1)"),
    ),
    *of(
        "query.released:FirstValues.__call__",
        "unit/test_questions_in_steps.py",
        ("place < len(self.known)", "False"),
        ("len(self.found) > MOST_FIRST", "False"),
    ),
]
