"""Breakages of core."""

from __future__ import annotations

from mutant import Mutant, of

EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    *of(
        "core/exact.py",
        "unit/core/test_exact.py",
        ('isinstance(value, bool) or hasattr(value, "__len__")', "isinstance(value, bool)"),
        ("if fraction <= 0:", "if fraction < 0:"),
        ("if not 0 <= fraction < 1:", "if not 0 <= fraction <= 1:"),
        ("return Fraction(value) if math.isfinite(value) else None", "return Fraction(value).limit_denominator(10**9)"),
        ("if integer is None or integer < least or", "if integer is None or"),
    ),
    *of(
        "core/rounding.py",
        "unit/core/test_rounding.py",
        ("return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)", "return nearest"),
        ("    if round_up and root * root != product << (2 * shift):", "    if False:"),
        ("(1 + MARGIN) + _LEAST if computed", "(1 - MARGIN) + _LEAST if computed"),
        (
            "return _exponential(exact) * (1 + Fraction(1, 10**50))",
            "return _exponential(exact) * (1 - Fraction(1, 10**50))",
        ),
    ),
    *of(
        "core/event.py",
        f"unit/core/test_event.py {EVENTS}",
        (
            "return _sum(event.pure() for event in self.events)",
            "return max((event.pure() for event in self.events), default=Fraction(0))",
        ),
        ("return min(Fraction(1), self.times * self.event.slack())", "return self.event.slack()"),
        ("float_up(self.times * Fraction(once))", "once"),
        ("total[atom] = total.get(atom, 0) + times", "total[atom] = times"),
    ),
    *of(
        "core/sensitivity.py",
        "unit/core/test_sensitivity.py",
        ("return cls._scalar(max(abs(bottom), abs(top)), neighbors)", "return cls._scalar(top - bottom, neighbors)"),
        ('cells = 1 if read_neighbors(neighbors) == "add-remove" else 2', "cells = 1"),
        ("l2_squared=self.l2_squared * k * k", "l2_squared=self.l2_squared * k"),
        ("others = [tuple(sorted((*rest, i))) for i in indices]", "others = [rest]"),
    ),
    *of(
        "core/errors.py",
        "unit/core/test_errors.py adversarial/test_bad_input.py",
        ('super().__init__(f"{parameter} must be {allowed}; got {kind}")', "super().__init__(kind)"),
        ("return text if len(text) <= _QUOTE_LIMIT else", "return text if True else"),
    ),
]
