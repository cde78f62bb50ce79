"""Breakages of several tables: links, joins, and what stays within one unit."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core.unit:check_unit",
        "unit/core/test_check_unit.py",
        ("column not in kinds", "False"),
        ("via not in kinds", "False"),
        ('kinds[time] not in ("date", "timestamp") or person == time', "False"),
        ('kinds[time] == "date" and unit.length % datetime.timedelta(days=1)', "False"),
    ),
    *of("core.unit:Nobody", "unit/core/test_check_unit.py", ("public: ClassVar[bool] = True", "public = False")),
    *of("core.unit:Rows", "unit/core/test_check_unit.py", ("rowwise: ClassVar[bool] = True", "rowwise = False")),
    *of(
        "core.schema:_owned",
        "unit/core/test_links.py",
        ("schema.neighbors != target.neighbors", "False"),
        ('f"{schema.version}; {link.to}: {target.version}" if target.version else schema.version', "schema.version"),
    ),
    *of(
        "core.schema:_apart",
        "unit/core/test_links.py",
        ("column.casefold() not in {owner.casefold() for owner in theirs}", "True"),
        ("not direct", "False"),
    ),
    *of(
        "core.schema:shown_columns",
        "unit/core/test_links.py",
        ("shown != name or name.casefold() not in own", "True"),
        ("owned and _is_person(link, schema)", "owned"),
    ),
    *of(
        "core.schema:_target",
        "unit/core/test_links.py",
        ("target.unit.rowwise", "False"),
    ),
    *of(
        "engines.scan_sql.row_values:linked_view",
        "unit/engines/test_links.py",
        (
            'f"SELECT r.*, {owners} FROM ({own}) AS r JOIN {relations[link.to]} AS o ON r.{via} = '
            'o.{theirs[link.column]}"',
            'f"SELECT r.*, {owners} FROM ({own}) AS r LEFT JOIN {relations[link.to]} AS o ON 1 = 1 '
            'OR r.{via} = o.{theirs[link.column]}"',
        ),
    ),
    *of(
        "engines.scan_sql.row_values:check_public",
        "unit/engines/test_links.py",
        ("schema.key is not None", "False"),
        (
            'fetch(f"SELECT count(*) FROM {relation}")[0][0] > schema.rows',
            'fetch(f"SELECT count(*) FROM {relation}")[0][0] < 0',
        ),
        ("clamped(physical(schema)[schema.key], schema.columns[schema.key], dialect)", "physical(schema)[schema.key]"),
    ),
    *of(
        "engines.scan_sql.relations:over_sql",
        "unit/engines/test_window_text.py laws/test_relation_sensitivity.py",
        ("map(dialect.rising, own) if span.rows else []", "[]"),
        ("[*owner, *parts]", "parts"),
    ),
    *of(
        "query.shape:_check_apart",
        "unit/query/test_several_tables.py",
        ("len(set(read)) < len(read)", "False"),
    ),
    *of(
        "query.join:shared_rows",
        "unit/query/test_several_tables.py e2e/test_subqueries_agree.py",
        ('check_person_shown(both, "INTERSECT" if kept else "EXCEPT")', "pass"),
        ('theirs if kept else call("not", theirs)', "theirs"),
    ),
    *of(
        "query.join:full",
        "e2e/test_subqueries_agree.py",
        ("replace(right, where=conjunction(right.where, alone))", "right"),
    ),
    *of(
        "query.shape:_check_one",
        "unit/query/test_lookups.py",
        ("not isinstance(join.right, GroupWithin)", "False"),
        ("any(name not in equal for name, _ in join.right.keys)", "False"),
        ("_told_apart(right.columns[column], mine, left)", "True"),
        ("set(unit_columns(right.unit)[:1])", "set(unit_columns(right.unit))"),
    ),
    *of(
        "query.lookups:_found",
        "unit/query/test_several_tables.py",
        ("not same_owner(made, source.schema, source.tables)", "False"),
    ),
    *of(
        "query.lookups:_paired",
        "unit/query/test_several_tables.py",
        ("not same_owner(pairs, source.schema, source.tables)", "False"),
    ),
    *of(
        "query.lookups:_doubted",
        "e2e/test_subqueries_agree.py",
        ('call("is_null", mine)', "Literal(False)"),
        ('call("coalesce", valued, Literal(0))', "number"),
    ),
    *of(
        "query.shape:says_owner",
        "unit/query/test_comma_joins.py",
        ("keyed or (one == other and one in _targets(tables))", "True"),
        ("not is_public(tables[table])", "True"),
    ),
    *of(
        "query.sql.from_clause:Reader.shared",
        "unit/query/test_comma_joins.py",
        ("all(name in other for other in listed)", "True"),
    ),
    *of(
        "query.shape:_Shape._join",
        "unit/query/test_several_tables.py",
        ("is_public(left) and not is_public(right)", "False"),
        ("left.unit.rowwise and not keyed", "False"),
        ("theirs = {name: replace(column, nullable=True) for name, column in theirs.items()}", "pass"),
    ),
    *of(
        "query.shape:on_key",
        "unit/query/test_several_tables.py",
        (
            'mentions(other) <= left.columns.keys() and _told_apart(right.columns[right.key or ""], other, left)',
            '_told_apart(right.columns[right.key or ""], other, left)',
        ),
    ),
    *of(
        "query.shape:check_same_unit",
        "unit/query/test_several_tables.py",
        ("left.unit != right.unit", "False"),
        ("left.neighbors != right.neighbors", "False"),
    ),
    *of(
        "query.shape:_check_partition",
        "unit/query/test_several_tables.py",
        ("ColumnRef(name) not in by", "False"),
    ),
    *of(
        "query.nodes:Query.facts_known",
        "unit/query/test_several_tables.py",
        ("read.table is not self.table", "False"),
        ("read.tables is not tables", "False"),
    ),
    *of(
        "query.join:join",
        "unit/query/test_several_tables.py",
        ("not same_owner(made, left.schema, left.tables)", "False"),
    ),
    *of(
        "query.join:pair",
        "unit/query/test_several_tables.py",
        ('if kind == "left": right = settled(right)', "pass"),
    ),
    *of(
        "query.shape:equalities",
        "unit/query/test_several_tables.py",
        ("mine in left.columns and other in theirs", "other in theirs or mine in theirs"),
    ),
    *of(
        "query.shape:says_owner",
        "unit/query/test_several_tables.py",
        ("one == other and one in _targets(tables)", "one == other"),
    ),
    *of(
        "query.shape:conjuncts",
        "unit/query/test_several_tables.py",
        ('on.function == "and"', 'on.function in ("and", "or")'),
    ),
    *of(
        "query.inside:stays_within",
        "unit/query/test_several_tables.py",
        (
            "all(ColumnRef(name) in asked.keys for name in units) or any(is_of_one(source.table, name, source.tables) "
            "for name in owned)",
            "True",
        ),
    ),
    *of(
        "query.join:check_person_shown",
        "unit/query/test_several_tables.py",
        ("ColumnRef(name) not in source.columns.values()", "False"),
    ),
    *of(
        "query.inside:named_columns",
        "unit/query/test_several_tables.py",
        ('(name or "").casefold() == owner.casefold() and value != ColumnRef(owner)', "False"),
    ),
    *of(
        "query.inside:with_ranks",
        "unit/query/test_several_tables.py",
        ("where is not None", "False"),
    ),
    *of(
        "engines.scan_sql.relations:_Writer._join",
        "laws/test_relation_sensitivity.py",
        ('["u = v"] if both else []', "[]"),
        ('"JOIN" if join.kind == "inner" else "LEFT JOIN"', '"LEFT JOIN"'),
    ),
    *of(
        "engines.scan_sql.relations:_Writer._stored",
        "laws/test_relation_sensitivity.py",
        (
            "f\"SELECT {owner} AS u, {', '.join(columns)} FROM {self.names[name]} AS r WHERE {known}\"",
            "f\"SELECT {owner} AS u, {', '.join(columns)} FROM {self.names[name]} AS r\"",
        ),
        ("clamped(f'r.{c}', schema.columns[n], self.dialect)", "f'r.{c}'"),
    ),
    *of(
        "engines.scan_sql.relations:group_sql",
        "unit/engines/test_relations.py laws/test_relation_sensitivity.py",
        ("[*owner, *keys]", "[*owner, *keys[1:]]"),
    ),
    *of(
        "engines.scan_sql.relations:group_sql",
        "laws/test_found_rows.py",
        ("key.column is not None", "True"),
    ),
    *of(
        "engines.scan_sql.relations:rank_sql",
        "unit/engines/test_window_text.py unit/engines/test_relations.py laws/test_relation_sensitivity.py",
        ("[*owner, *parts]", 'parts[1:] or ["1"]'),
        ("order += map(dialect.rising, own)", "pass"),
    ),
    *of(
        "engines.scan_sql.relations:_Part._sum",
        "unit/engines/test_relations.py laws/test_relation_sensitivity.py",
        ("dialect.total(dialect.sum(summed.value), kept)", "dialect.total(dialect.sum(summed.value), None)"),
    ),
    *of(
        "engines.scan_sql.row_values:owner_of",
        "laws/test_relation_sensitivity.py laws/test_scan_sensitivity.py",
        ('f"{owner} IS NOT NULL"', '"true"'),
    ),
    *of(
        "engines.scan_sql.row_values:owner_of",
        "laws/test_window_sensitivity.py",
        ('dialect.record({"p": owner, "b": bucket})', 'f"{bucket}"'),
    ),
    *of(
        "engines.scan_sql.row_values:_bucket",
        "laws/test_window_sensitivity.py",
        ("-start % size", "0"),
    ),
    *of(
        "core.unit:Window.touches",
        "laws/test_window_sensitivity.py golden/test_query_to_plan.py",
        ("2 * self.group", "self.group"),
    ),
    *of(
        "core.unit:unit_columns",
        "laws/test_window_sensitivity.py golden/test_query_to_plan.py",
        ("(person, time)", "(person,)"),
    ),
    *of(
        "core.schema:Schema.moves",
        "laws/test_window_sensitivity.py golden/test_query_to_plan.py",
        ('"change-one" if self.unit.timed else self.neighbors', "self.neighbors"),
    ),
    *of(
        "query.join:check_fanout",
        "unit/query/test_several_tables.py",
        ("node.most is None or not 1 <= node.most <= MOST // len(joins)", "False"),
        ("MOST // len(joins)", "MOST"),
    ),
    *of(
        "query.join:_pairs_many",
        "unit/query/test_several_tables.py",
        ("not any(one_to_meet(join, left, tables))", "False"),
    ),
    *of(
        "query.join:_multiplies",
        "unit/query/test_several_tables.py",
        (
            "_spreads(join, left, right) or _pairs_many(join, left, right, tables)",
            "_pairs_many(join, left, right, tables)",
        ),
    ),
    *of(
        "query.join:with_cuts",
        "unit/query/test_several_tables.py",
        ("_least(joins, tables) > most", "False"),
        ("WORK // effort(relation, tables, expressions)", "WORK"),
    ),
    *of(
        "query.join:_own",
        "unit/query/test_several_tables.py",
        ("LONGEST * (1 + again)", "LONGEST"),
        ("LONGEST * reads", "0"),
    ),
    *of(
        "query.shape:equal_sides",
        "adversarial/test_one_person_slows_nothing.py::test_joins_that_make_too_many_rows_of_any_row_are_refused_whoever_is_there",
        (
            "all(sides) and sides[0] <= left.columns.keys() and sides[1] <= theirs",
            "sides[0] <= left.columns.keys() and sides[1] <= theirs",
        ),
    ),
    *of(
        "query.resolve:_fitted",
        "unit/query/test_several_tables.py",
        ("len(expression.constant) > LONGEST", "False"),
    ),
    *of(
        "engines.scan_sql.relations:join_sql",
        "unit/engines/test_relations.py",
        ("' WHERE t < '", "' WHERE t <= '"),
        ("f'i <= {most} - t'", "'true'"),
        (
            'f"PARTITION BY {u} ORDER BY {left.order(secret, dialect)} ROWS UNBOUNDED PRECEDING"',
            'f"ORDER BY {left.order(secret, dialect)} ROWS UNBOUNDED PRECEDING"',
        ),
        ("' OR m = 0' if kind == 'left' else ''", "''"),
    ),
    *of(
        "engines.scan_sql.relations:_large",
        "unit/engines/test_relations.py",
        (
            "dialect.divide_whole(str(most), 'min(m)')",
            "most",
        ),
    ),
    *of(
        "engines.scan_sql.relations:Side.order",
        "unit/engines/test_relations.py",
        (
            "[dialect.keyed_hash([*owner, *self.columns], secret), *map(dialect.rising, self.columns), *signs]",
            "[dialect.keyed_hash([*owner, *self.columns], secret), ]",
        ),
        ("[*owner, *self.columns]", "[*owner]"),
    ),
    *of(
        "engines.scan_sql.relations:join_sql",
        "adversarial/test_one_person_slows_nothing.py::test_a_person_with_a_thousand_rows_in_a_join_of_three_takes_no_longer_than_others_do",
        (
            'f"SELECT a.*, CASE WHEN x IS NULL THEN {u} END AS w FROM a LEFT JOIN {gone} ON {u} = x"',
            'f"SELECT a.*, {u} AS w FROM a LEFT JOIN {gone} ON {u} = x"',
        ),
    ),
    *of(
        "engines.dialects.duckdb:DuckDBDialect.cut",
        "unit/engines/test_relations.py",
        (
            'f"CASE WHEN strlen({sql}) > {most} THEN substring({sql}, 1, {most}) ELSE {sql} END"',
            'f"CASE WHEN strlen({sql}) > {most} THEN {sql} ELSE {sql} END"',
        ),
    ),
    *of(
        "engines.dialects.duckdb:DuckDBDialect.known_by",
        "unit/engines/test_relations.py",
        (
            'f"CASE WHEN strlen({sql}) > {most} THEN {mark} ELSE {sql} END"',
            'f"CASE WHEN strlen({sql}) > {most} THEN substring({sql}, 1, {most}) ELSE {sql} END"',
        ),
    ),
    *of(
        "engines.dialects.duckdb:DuckDBDialect.known_by",
        "adversarial/test_person_columns.py",
        ("f\"rpad(sha256({sql}), {most + 1}, '.')\"", 'f"sha256({sql})"'),
    ),
    *of(
        "engines.scan_sql.row_values:owner_of",
        "laws/test_window_sensitivity.py",
        (
            "between(time, dialect.constant(first), dialect.constant(last))",
            "clamped(time, schema.columns[unit.time], dialect)",
        ),
    ),
    *of(
        "execution.pace:Pace._held",
        "unit/test_pace.py",
        ("self._wait(step)\nraise", "raise"),
    ),
    *of(
        "execution.pace:Pace._wait",
        "unit/test_pace.py",
        ("max(1, -(-passed // step))", "passed // step"),
        ("if not self._asked.fresh: return", ""),
    ),
    *of(
        "execution.executor:Executor.turn",
        "unit/test_pace.py",
        ("self.pace.fresh()", ""),
    ),
    *of(
        "config.sessions:session_of",
        "unit/cli/test_asking_commands.py",
        ("config.engine.time_step", "None"),
    ),
    *of(
        "planner.explain:coverage_notes",
        "adversarial/test_one_person_slows_nothing.py::test_a_person_with_a_thousand_rows_in_a_join_of_three_takes_no_longer_than_others_do",
        ("most is not None", "False"),
    ),
]
