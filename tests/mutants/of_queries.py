"""Breakages of how a question is read and what is known of it: facts, joins, what stays within one unit."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "query/rules.py",
        "unit/query/test_expression_facts.py",
        ("sure = [argument.constant is not None for argument", "sure = [not argument.typed.nullable for argument"),
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
]
