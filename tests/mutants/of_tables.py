"""Breakages of several tables: links, joins, and what stays within one unit."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core/links.py",
        "unit/core/test_links.py",
        ("if schema.neighbors != target.neighbors:", "if False:"),
        ("if owner.casefold() in {column.casefold() for column in columns}:", "if False:"),
        ("if isinstance(target.unit, Rows):", "if False:"),
        ('version = f"{schema.version}; {link.to}: {target.version}" if target.version else', "version ="),
    ),
    *of(
        "engines/links.py",
        "unit/engines/test_links.py",
        ("JOIN {relations[link.to]} AS o ON", "LEFT JOIN {relations[link.to]} AS o ON 1 = 1 OR"),
        ("if schema.key is not None:", "if False:"),
        ("[0][0] > schema.rows:", "[0][0] < 0:"),
        ("clamped(physical(schema)[schema.key], schema.columns[schema.key])", "physical(schema)[schema.key]"),
    ),
    *of(
        "query/shape.py",
        "unit/query/test_several_tables.py",
        ("if is_public(left) and not is_public(right):", "if False:"),
        ("if isinstance(left.unit, Rows) and not keyed:", "if False:"),
        ("if mentions(other) <= left.columns.keys() and ", "if "),
        ("if left.unit != right.unit:", "if False:"),
        ("if left.neighbors != right.neighbors:", "if False:"),
        ("theirs = {name: replace(column, nullable=True) for name, column in theirs.items()}", "pass"),
        ("        if Column(name) not in by:", "        if False:"),
    ),
    *of(
        "query/join.py",
        "unit/query/test_several_tables.py",
        ("if not same_owner(made, left.schema, left.tables):", "if False:"),
        ('    if kind == "left":\n        right = settled(right)', "    pass"),
    ),
    *of(
        "query/origin.py",
        "unit/query/test_several_tables.py",
        ("if mine in left.columns and other in theirs:", "if other in theirs or mine in theirs:"),
        ("if place in targets and place ==", "if place =="),
        (
            'if isinstance(on, Call) and on.function == "and":',
            'if isinstance(on, Call) and on.function in ("and", "or"):',
        ),
    ),
    *of(
        "query/inside.py",
        "unit/query/test_several_tables.py",
        ("return bool(units) and all(Column(name) in asked.keys for name in units)", "return bool(units)"),
        ("        if Column(name) not in source.columns.values():", "        if False:"),
        ('if (name or "").casefold() == owner.casefold() and one != Column(owner):', "if False:"),
        ("    if where is not None:\n        relation = Derive", "    if False:\n        relation = Derive"),
    ),
    *of(
        "engines/relations.py",
        "laws/test_relation_sensitivity.py",
        ('*(["u = v"] if both else [])', "*[]"),
        ('FROM {self.names[name]} AS r WHERE {known}"', 'FROM {self.names[name]} AS r"'),
        ('kind = "JOIN" if join.kind == "inner" else "LEFT JOIN"', 'kind = "LEFT JOIN"'),
        ("clamped(f'r.{c}', schema.columns[n])", "f'r.{c}'"),
    ),
    *of(
        "engines/within.py",
        "unit/engines/test_relations.py laws/test_relation_sensitivity.py",
        ('by = ", ".join([*owner, *keys])', 'by = ", ".join([*owner, *keys[1:]])'),
        ('partition = ", ".join([*owner, *parts])', 'partition = ", ".join(parts[1:] or ["1"])'),
        ("        order += own  #", "        pass  #"),
        ('self.total = f"sum({found.value}){kept} AS', 'self.total = f"sum({found.value}) AS'),
    ),
    *of(
        "engines/owners.py",
        "laws/test_relation_sensitivity.py laws/test_scan_sensitivity.py",
        ('known = f"{owner} IS NOT NULL"', 'known = "true"'),
    ),
    *of(
        "engines/owners.py",
        "laws/test_window_sensitivity.py",
        ("struct_pack(p := {owner}, b := {bucket})", "{bucket}"),
        ("{whole(-start % size)}", "{whole(0)}"),
    ),
    *of(
        "core/unit.py",
        "laws/test_window_sensitivity.py golden/test_query_to_plan.py",
        ("return 2 * self.group", "return self.group"),
        ("return (person, time)", "return (person,)"),
    ),
    *of(
        "core/schema.py",
        "laws/test_window_sensitivity.py golden/test_query_to_plan.py",
        ('return "change-one" if isinstance(self.unit, Window) else self.neighbors', "return self.neighbors"),
    ),
    *of(
        "query/fanout.py",
        "unit/query/test_several_tables.py",
        ("if one.most is None or not 1 <= one.most <= MOST // len(several):", "if False:"),
        ("MOST // len(several)", "MOST"),
        ("return not any(one_to_meet(join, left, tables))", "return False"),
        ("return _spreads(join, tables) or _pairs_many(join, tables)", "return _pairs_many(join, tables)"),
        ("    if _least(several, tables) > most:", "    if False:"),
        ("WORK // effort(relation, tables, expressions))", "WORK)"),
    ),
    *of(
        "query/effort.py",
        "unit/query/test_several_tables.py",
        ("return plain + LONGEST * (1 + again)", "return plain + LONGEST"),
        ('(_READS if call.function.startswith("to_") else 1)', "0"),
    ),
    *of(
        "query/origin.py",
        "adversarial/test_one_person_slows_nothing.py::test_joins_that_make_too_many_rows_of_any_row_are_refused_whoever_is_there",
        ("if all(sides) and sides[0]", "if sides[0]"),
    ),
    *of(
        "query/resolve.py",
        "unit/query/test_several_tables.py",
        ("and len(expression.value) > LONGEST:", "and False:"),
    ),
    *of(
        "engines/pairs.py",
        "unit/engines/test_relations.py",
        ("WHERE t < {most}", "WHERE t <= {most}"),
        ("f'i <= {most} - t'", "'true'"),
        ("HAVING count(*) > {most} // min(m)", "HAVING count(*) > {most}"),
        ("PARTITION BY {u} ORDER BY {left.order(secret)}", "ORDER BY {left.order(secret)}"),
        ("*self.columns, *signs])", "])"),
        ("' OR m = 0' if kind == 'left' else ''", "''"),
        ("[*owner, *self.columns], secret)", "[*owner], secret)"),
    ),
    *of(
        "engines/pairs.py",
        "adversarial/test_one_person_slows_nothing.py::test_a_person_with_a_thousand_rows_in_a_join_of_three_takes_no_longer_than_others_do",
        ("CASE WHEN x IS NULL THEN {u} END AS w", "{u} AS w"),
    ),
    *of(
        "engines/values.py",
        "unit/engines/test_relations.py",
        ("THEN substring({sql}, 1, {most}) ELSE {sql} END", "THEN {sql} ELSE {sql} END"),
    ),
    *of(
        "engines/owners.py",
        "unit/engines/test_relations.py",
        ("THEN {mark} ELSE {owner} END", "THEN substring({owner}, 1, {LONGEST}) ELSE {owner} END"),
    ),
    *of(
        "engines/owners.py",
        "adversarial/test_person_columns.py",
        ("rpad(sha256({owner}), {LONGEST + 1}, '.')", "sha256({owner})"),
    ),
    *of(
        "engines/owners.py",
        "laws/test_window_sensitivity.py",
        ("between(time, constant(first), constant(last))", "clamped(time, schema.columns[unit.time])"),
    ),
    *of(
        "pace.py",
        "unit/test_pace.py",
        (
            "        except Exception:\n            self._wait(self.step)\n            raise",
            "        except Exception:\n            raise",
        ),
        ("max(1, -(-passed // step))", "(passed // step)"),
        ("        if not self._asked.fresh:\n            return\n", ""),
    ),
    *of(
        "road.py",
        "unit/test_pace.py",
        ("        self._pace.fresh()\n", ""),
    ),
    *of(
        "config/sessions.py",
        "unit/cli/test_asking_commands.py",
        ("time_step=config.engine.time_step", "time_step=None"),
    ),
    *of(
        "planner/explain.py",
        "adversarial/test_one_person_slows_nothing.py::test_a_person_with_a_thousand_rows_in_a_join_of_three_takes_no_longer_than_others_do",
        ("    if most is not None:\n        notes.append(", "    if False:\n        notes.append("),
    ),
]
