"""Mutants of how arguments are read that are not numbers."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "core/given.py",
        "unit/core/test_given.py",
        ("return isinstance(value, kinds) and not isinstance(value, type)", "return isinstance(value, kinds)"),
        ("if isinstance(value, str) and str.__eq__(value, name) is True:", "if value == name:"),
        ("    if len(items) > most:\n", "    if False:\n"),
        ("(isinstance(value, str) and not texts)", "False"),
        (
            "it raised a {kind}",
            "it raised a {kind}: {error}",
        ),
        ("    if len(every) != len(items):\n", "    if False:\n"),
    ),
    *of(
        "accounting/tradeoff.py",
        "unit/core/test_given.py",
        ("        if allowed > 0:\n", "        if False:\n"),
    ),
    *of(
        "core/event.py",
        "unit/core/test_given.py",
        (
            "        at = read_order(order)\n        if self.times == 0:\n",
            "        at = order\n        if self.times == 0:\n",
        ),
    ),
]
