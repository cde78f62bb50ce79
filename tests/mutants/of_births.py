"""Breakages of what values are checked for when they are made."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core/scan.py",
        "laws/test_complete_values.py",
        ("if len(distinct) != len(self.values) or len(", "if len("),
        ("and not self.low <= self.null_as <= self.high:", "and False:"),
        ("if isinstance(self.bounding, Once) != isinstance(unit, Rows) and not", "if False and not"),
    ),
    *of(
        "core/complete.py",
        "laws/test_complete_values.py",
        ("if not test(held):", "if False:"),
        ("type(value) in leaves and _plain(value)", "isinstance(value, tuple(leaves))"),
        ("        if type(value) is not tuple:\n", "        if not isinstance(value, (tuple, list)):\n"),
    ),
    *of(
        "core/schema.py",
        "laws/test_complete_values.py",
        ("MappingProxyType(dict(self.columns))", "self.columns"),
    ),
    *of(
        "planner/verify.py",
        "laws/test_complete_values.py",
        (" or list(expected.columns) != list(one.scan.schema.columns):", ":"),
        ("if type(plan) is not Plan:", "if not isinstance(plan, Plan):"),
        ("if condition is not None and typed(condition, scan.schema.columns).kind not in _CHOSEN:", "if False:"),
    ),
    *of(
        "core/errors.py",
        "adversarial/test_error_chains.py",
        (
            "        raise error\n    finally:\n        error.__context__ = error.__cause__ = None\n",
            "        raise error from None\n    finally:\n        pass\n",
        ),
        ("error.__context__ = error.__cause__ = error.__traceback__ = None", "error.__cause__ = None"),
        ('vars(error).pop("__notes__", None)', "pass"),
    ),
    *of(
        "road.py",
        "adversarial/test_error_chains.py adversarial/test_session_road.py",
        ("_alone(lambda: self._engine.scan(scan), EngineError())", "self._engine.scan(scan)"),
        ("_alone(lambda: self._drawn(plan, receipt), _unreleased())", "self._drawn(plan, receipt)"),
        ("_alone(lambda: self._drawn_all(batch, receipt), _unreleased())", "self._drawn_all(batch, receipt)"),
    ),
    *of(
        "engines/sources.py",
        "unit/engines/test_stored_moments.py",
        (
            "frame = moments_as_stored(_frame(name, source, table.schema), table.schema)",
            "frame = _frame(name, source, table.schema)",
        ),
        ("        if not coarse & {column.casefold() for column in schema.columns}:", "        if True:"),
        ("    if plain == _FINE:", "    if False:"),
    ),
    *of(
        "engines/moments_stored.py",
        "unit/engines/test_stored_moments.py",
        ("        if _coarse(field.type):\n            column =", "        if False:\n            column ="),
        ("if not (zoned or (", "if not (("),
    ),
    *of(
        "road.py",
        "adversarial/test_session_slips.py",
        ("        if self._closed:\n", "        if False:\n"),
    ),
    *of(
        "asked.py",
        "adversarial/test_session_slips.py",
        ("    check_categories(query, tables)\n", ""),
    ),
    *of(
        "session.py",
        "adversarial/test_session_slips.py",
        ("low = low if 0 < low < high and fits(low) else 0.0", "low = 0.0"),
    ),
    *of(
        "core/scan.py",
        "laws/test_extreme_bounds.py",
        ("        if far > FARTHEST or self.step < 1 / FARTHEST:", "        if False:"),
    ),
    *of(
        "core/names.py",
        "adversarial/test_command_line_slips.py",
        ('unicodedata.normalize("NFKC", name)', "name"),
        ("_LATIN.get(sign, sign)", "sign"),
    ),
    *of(
        "core/errors.py",
        "adversarial/test_command_line_slips.py",
        ('hidden = _IN_ADDRESS.sub(r"\\g<1>***@", text)', "hidden = text"),
        ('return _IN_WORDS.sub(r"\\g<1>***", hidden)', "return hidden"),
    ),
]
