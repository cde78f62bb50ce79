"""Breakages of the engines: how rows are clamped, put on the grid and weighted."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "engines.scan_sql.row_values:_double_grid",
        "conformance/test_engines.py laws/test_scan_sensitivity.py",
        (
            'f"CASE WHEN {y} >= {bottom} AND {y} <= {top} THEN {dialect.cast_placed(y)} WHEN {y} < '
            '{bottom} THEN {low} " f"WHEN {y} <= {dialect.infinity} THEN {high}{missing} END"',
            'f"CASE WHEN {y} >= {bottom} THEN {dialect.cast_whole(y)} WHEN {y} < {bottom} THEN '
            '{low} " f"WHEN {y} <= {dialect.infinity} THEN {high}{missing} END"',
        ),
        (
            'f"CASE WHEN {y} >= {bottom} AND {y} <= {top} THEN {dialect.cast_placed(y)} WHEN {y} < '
            '{bottom} THEN {low} " f"WHEN {y} <= {dialect.infinity} THEN {high}{missing} END"',
            'f"CASE WHEN {y} >= {bottom} AND {y} <= {top} THEN {dialect.cast_placed(y)} WHEN {y} < '
            '{bottom} THEN {dialect.cast_whole(y)} " f"WHEN {y} <= {dialect.infinity} THEN {high}{missing} END"',
        ),
    ),
    *of(
        "engines.scan_sql.row_values:_clamps_alone",
        "conformance/test_engines.py laws/test_scan_sensitivity.py",
        ("scale.place(float(low)) <= total.low and total.high <= scale.place(float(high))", "True"),
    ),
    *of(
        "engines.scan_sql.row_values:_whole_grid",
        "laws/test_clamps.py",
        ("between(x, whole(bottom), whole(top))", "x"),
        ("between(y, whole(total.low), whole(total.high))", "y"),
    ),
    *of(
        "engines.scan_sql.row_values:_clamps_whole",
        "conformance/test_engines.py",
        ("form.apply(int(low)) <= total.low and total.high <= form.apply(int(high))", "True"),
    ),
    *of(
        "engines.scan_sql.relations:_Writer._derive",
        "laws/test_clamps.py",
        ("clamped(f'c{index}', made.columns[name], self.dialect)", "f'c{index}'"),
    ),
    *of(
        "engines.scan_sql.row_values:grid_of",
        "unit/engines/test_shared_grids.py",
        (
            "replace(total, where=None, null_as=None, power=1, offset=0)",
            "replace(total, where=None, null_as=None, power=1, offset=0, step=Fraction(1))",
        ),
    ),
    *of(
        "engines.scan_sql.row_values:given",
        "unit/engines/test_shared_grids.py",
        ('None if like_sum.condition is None else f"b{index}"', "like_sum.condition"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._norm_of_rows",
        "laws/test_scan_sensitivity.py",
        ("'SELECT u, sum('", "'SELECT u, max('"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._norm",
        "adversarial/test_many_rows_of_one.py",
        ("MOST_ROWS", "1"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._norm_of_most",
        "unit/engines/test_shared_grids.py",
        ("' WHERE w < '", "' WHERE w > '"),
        ("'SELECT u, w - '", "'SELECT u, w + '"),
    ),
    *of(
        "engines.scan_sql.statement:_short_texts",
        "unit/engines/test_long_keys.py",
        ("max(map(len, texts)) < longest(scan.schema.columns[name])", "True"),
        ("len(text.encode())", "len(text)"),
        ("len(texts) < len(values)", "False"),
    ),
    *of(
        "engines.scan_sql.statement:CountingWriter._within",
        "conformance/test_engines.py",
        ("self.dialect.at(f'l.{end}', f'x.{name}')", "self.dialect.at(f'l.{end}', f'x.{name} + 1')"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._narrow",
        "unit/engines/test_shared_grids.py",
        ("self.scan.sums[index].most * max(allowed, 2 ** norm.shift) <= INT64[1]", "True"),
    ),
    *of(
        "engines.duckdb.engine:Deadline.running",
        "unit/engines/test_deadline.py",
        ("with self._changing: self._until = None", "pass"),
    ),
    *of(
        "engines.duckdb.engine:Deadline.left",
        "unit/engines/test_deadline.py",
        ("self._stop()", "pass"),
    ),
    *of(
        "engines.scan_sql.row_values:with_weight",
        "unit/engines/test_weights.py conformance/test_engines.py laws/test_scan_sensitivity.py",
        ("limit + 1", "limit"),
    ),
    *of(
        "engines.scan_sql.row_values:_with_root",
        "unit/engines/test_weights.py conformance/test_engines.py laws/test_scan_sensitivity.py",
        (
            "f\"SELECT {dialect.all_but('e', of)}, e - {low} + {high} AS {name} FROM {dialect.computed(guess)}\"",
            "f\"SELECT {dialect.all_but('e', of)}, e + 1 AS {name} FROM {dialect.computed(guess)}\"",
        ),
    ),
    *of(
        "engines.scan_sql.row_values:with_share",
        "unit/engines/test_weights.py conformance/test_engines.py laws/test_scan_sensitivity.py",
        ('dialect.least("c", whole(discovery.most))', '"1"'),
    ),
    *of(
        "testing.suites:_bounded",
        "conformance/test_suites.py::test_a_broken_engine_is_told_by_the_law_that_it_breaks",
        ("total == 2 * most", "True"),
    ),
    *of(
        "testing.suites:_chosen_anew",
        "conformance/test_suites.py::test_a_broken_engine_is_told_by_the_law_that_it_breaks",
        ("len(seen) > 1", "True"),
    ),
    *of(
        "testing.suites:_stored",
        "conformance/test_suites.py::test_a_broken_ledger_is_told_by_the_law_that_it_breaks",
        ("stored is not None and stored[1] == answer", "True"),
    ),
    *of(
        "testing.suites:_audited",
        "conformance/test_outside_mechanism.py",
        ("not report.refuted", "True"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._layer",
        "laws/test_scans_in_parts.py",
        # one person in several parts, each of which bounds it by itself
        (
            "self.dialect.in_part(owner, self.parts, self.secret)",
            "self.dialect.in_part(f'r.{[*names.values()][-1]}', self.parts, self.secret)",
        ),
        (
            "[self.dialect.in_part(owner, self.parts, self.secret)] if self.parts > 1 else []",
            "[]",
        ),
    ),
    *of(
        "engines.scan_sql.statement:Writer._summed_cells",
        "laws/test_scans_in_parts.py",
        (
            'both, held = [*both, "coalesce(sum(d), 0) AS d", "sum(holders) AS holders"], ""',
            'both, held = [*both, "coalesce(sum(d), 0) AS d", "sum(holders) AS holders"], " HAVING sum(holders) > 0"',
        ),
    ),
    *of(
        "engines.dialects.duckdb:DuckDBDialect.in_part",
        "laws/test_scans_in_parts.py",
        (
            'f"{self.keyed_hash([unit], secret)} % {parts}::UBIGINT = $part::UBIGINT"',
            'f"{self.keyed_hash([unit], secret)} % {parts}::UBIGINT <= $part::UBIGINT"',
        ),
        (
            'f"{self.keyed_hash([unit], secret)} % {parts}::UBIGINT = $part::UBIGINT"',
            'f"{self.keyed_hash([unit], secret)} % {parts + 1}::UBIGINT = $part::UBIGINT"',
        ),
    ),
    *of(
        "engines.duckdb.engine:added",
        "laws/test_scans_in_parts.py",
        ("tuple(map(add, sums[group], given)) if group in sums else given", "given"),
        (
            "{group: given[:-1] for group, given in sums.items() if given[-1] > 0}",
            "{group: given[:-1] for group, given in sums.items()}",
        ),
    ),
    *of(
        "engines.duckdb.engine:divides",
        "laws/test_scans_in_parts.py",
        ("not scan.bounding.unbounded", "True"),
        ("scan.bounding.of is None", "True"),
        ("scan.places is None", "True"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB._fetch_parts",
        "laws/test_scans_in_parts.py",
        ("range(asked.parts)", "range(1, asked.parts)"),
        ("range(asked.parts)", "[*range(asked.parts), 0]"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB._fetch_parts.run",
        "laws/test_scans_in_parts.py",
        ("time.monotonic() >= until", "False"),
    ),
    *of(
        "engines.duckdb.engine:DuckDB._parts_of",
        "laws/test_scans_in_parts.py",
        ("self._made_anew.intersection(names)", "False"),
        ("schema.rows for schema in private", "2 * schema.rows for schema in private"),
    ),
    *of(
        "engines.duckdb.engine:parts_for",
        "laws/test_scans_in_parts.py",
        ("rows < DEFAULT_ROWS", "True"),
    ),
    *of(
        "engines.duckdb.engine:make_spill_folder",
        "adversarial/test_memory_limits.py",
        (
            'tempfile.mkdtemp(prefix="privet-")',
            '[place := os.path.join(tempfile.gettempdir(), "all"), os.makedirs(place, exist_ok=True)][0]',
        ),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.__init__",
        "adversarial/test_memory_limits.py",
        (
            '{"memory_limit": memory_limit, "temp_directory": self._spill, "preserve_insertion_order": False}',
            '{"temp_directory": self._spill, "preserve_insertion_order": False}',
        ),
        (
            '{"memory_limit": memory_limit, "temp_directory": self._spill, "preserve_insertion_order": False}',
            '{"memory_limit": memory_limit, "preserve_insertion_order": False}',
        ),
    ),
    *of(
        "engines.duckdb.engine:DuckDB.check",
        "adversarial/test_memory_limits.py",
        ("check_spill_folder(self._spill)", "None"),
    ),
    *of(
        "engines.duckdb.sources:view_of",
        "laws/test_scans_in_parts.py",
        ('collated and facts.kind == "text"', "False"),
    ),
]
