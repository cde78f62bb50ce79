"""Breakages of what values are checked for when they are made."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core.scan:GroupKey.__post_init__",
        "laws/test_complete_values.py",
        (
            "len(distinct) != len(self.values) or len({*map(type, distinct)} - {type(None)}) > 1",
            "len({*map(type, distinct)} - {type(None)}) > 1",
        ),
    ),
    *of(
        "core.scan:Sum.__post_init__",
        "laws/test_complete_values.py",
        ("not self.low <= self.null_as <= self.high", "False"),
    ),
    *of(
        "core.scan:Scan.__post_init__",
        "laws/test_complete_values.py",
        ("self.bounding.unbounded != unit.rowwise", "False"),
    ),
    *of(
        "core.given:check_fields",
        "laws/test_complete_values.py",
        ("not test(held)", "False"),
    ),
    *of(
        "core.given:_test",
        "laws/test_complete_values.py",
        ("lambda value: type(value) in leaves", "lambda value: isinstance(value, tuple(leaves))"),
        ("type(value) in leaves and _plain(value)", "type(value) in leaves"),
    ),
    *of(
        "core.given:_several.holds",
        "laws/test_complete_values.py",
        ("type(value) is not tuple", "not isinstance(value, (tuple, list))"),
    ),
    *of(
        "core.schema:Schema.__post_init__",
        "laws/test_complete_values.py",
        ("MappingProxyType(dict(self.columns))", "self.columns"),
    ),
    *of(
        "planner.verify:_verify_table",
        "laws/test_complete_values.py",
        (
            "expected != scan.schema or list(expected.columns) != list(scan.schema.columns)",
            "expected != scan.schema",
        ),
    ),
    *of(
        "planner.verify:verify",
        "laws/test_complete_values.py",
        ("type(plan) is not Plan", "not isinstance(plan, Plan)"),
    ),
    *of(
        "planner.verify:_verify_kinds",
        "laws/test_complete_values.py",
        ("condition is not None and typed(condition, scan.schema.columns).kind not in _CHOSEN", "False"),
    ),
    *of(
        "core.errors:raise_alone",
        "adversarial/test_error_chains.py",
        (
            "try:\n    raise error\nfinally:\n    error.__context__ = error.__cause__ = None",
            "try:\n    raise error from None\nfinally:\n    pass",
        ),
    ),
    *of(
        "core.errors:bare",
        "adversarial/test_error_chains.py",
        ("error.__context__ = error.__cause__ = error.__traceback__ = None", "error.__cause__ = None"),
        ('vars(error).pop("__notes__", None)', "pass"),
    ),
    *of(
        "execution.executor:Executor._scan",
        "adversarial/test_error_chains.py adversarial/test_session_order.py",
        ("_alone(lambda: self.engine.scan(scan), EngineError)", "self.engine.scan(scan)"),
    ),
    *of(
        "execution.executor:Executor.release",
        "adversarial/test_error_chains.py adversarial/test_session_order.py",
        ("_alone(lambda: self._drawn(plan, receipt), _unreleased)", "self._drawn(plan, receipt)"),
    ),
    *of(
        "execution.executor:Executor.release_batch",
        "adversarial/test_error_chains.py adversarial/test_session_order.py",
        ("_alone(lambda: self._drawn_batch(batch, receipt), _unreleased)", "self._drawn_batch(batch, receipt)"),
    ),
    *of(
        "engines.duckdb.sources:open_source",
        "unit/engines/test_stored_moments.py",
        ("moments_as_stored(_frame(name, source, table.schema), table.schema)", "_frame(name, source, table.schema)"),
    ),
    *of(
        "engines.duckdb.sources:_files",
        "unit/engines/test_stored_moments.py",
        ("not coarse & {column.casefold() for column in schema.columns}", "True"),
    ),
    *of(
        "engines.duckdb.sources:_moment",
        "unit/engines/test_stored_moments.py",
        ("plain == _FINE", "False"),
    ),
    *of(
        "engines.duckdb.sources:_scanned",
        "unit/engines/test_stored_moments.py",
        ("_coarse(field.type)", "False"),
    ),
    *of(
        "engines.duckdb.sources:_pandas",
        "unit/engines/test_stored_moments.py",
        ("zoned or (arrow is not None and _coarse(arrow))", "arrow is not None and _coarse(arrow)"),
    ),
    *of(
        "execution.executor:Executor.check_open",
        "adversarial/test_session_slips.py",
        ("self._closed", "False"),
    ),
    *of(
        "execution.request:read_question",
        "adversarial/test_session_slips.py",
        ("check_categories(query, tables)", "schema_of(query.table, tables)"),
    ),
    *of(
        "execution.affordable:with_largest",
        "adversarial/test_session_slips.py",
        ("low if 0 < low < high and fits(low) else 0.0", "0.0"),
    ),
    *of(
        "core.scan:Sum._check_range",
        "laws/test_extreme_bounds.py",
        ("far > FARTHEST or self.step < 1 / FARTHEST", "False"),
    ),
    *of(
        "core.given:looks_of",
        "adversarial/test_command_line_slips.py",
        ('unicodedata.normalize("NFKC", name)', "name"),
        ("_LATIN.get(sign, sign)", "sign"),
    ),
    *of(
        "core.errors:without_passwords",
        "adversarial/test_command_line_slips.py",
        ('_IN_ADDRESS.sub(r"\\g<1>***@", text)', "text"),
        ('_IN_WORDS.sub(r"\\g<1>***", hidden)', "hidden"),
    ),
]
