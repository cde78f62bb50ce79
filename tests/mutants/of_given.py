"""Mutants of how arguments are read that are not numbers."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core.given:is_a",
        "unit/core/test_given.py",
        ("isinstance(value, kinds) and not isinstance(value, type)", "isinstance(value, kinds)"),
    ),
    *of(
        "core.given:choice",
        "unit/core/test_given.py",
        ("isinstance(value, str) and str.__eq__(value, name) is True", "value == name"),
    ),
    *of(
        "core.given:listed",
        "unit/core/test_given.py",
        ("len(items) > most", "False"),
        ("isinstance(value, str) and not texts", "False"),
    ),
    *of(
        "core.given:called",
        "unit/core/test_given.py",
        (
            'f"{parameter} must be a function that works on what it is given; it raised a {kind}"',
            'f"{parameter} must be a function that works on what it is given; it raised a {kind}: {error}"',
        ),
    ),
    *of(
        "core.given:_read_tuple",
        "unit/core/test_given.py",
        ("len(every) != len(items)", "False"),
    ),
    *of(
        "accounting.tradeoff:best_accuracy",
        "unit/core/test_given.py",
        ("allowed > 0", "False"),
    ),
    *of(
        "core.event:Repeated.rdp",
        "unit/core/test_given.py",
        ("read_order(order)", "order"),
    ),
]
