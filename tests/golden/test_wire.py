"""The forms in which plans are hashed, as a file: stored answers are found by them, so they never change.

A form may be added, and a field at the end of one's `later`, with the value at which it is left out; then add it here.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from privet.aggregates.aggregate import Argument
from privet.core.schema import Contents
from privet.core.wire import Form, forms
from privet.planner.measures import BoundsMeasure, ModeMeasure, SumMeasure
from privet.planner.plan import Pass
from privet.query.nodes import AggregateCall

PINNED = Path(__file__).with_name("wire.json")
WRITTEN = (Pass, AggregateCall, Argument)
"""What planners write: passes for digests, and the rest to put what is asked in an order of its own, by its text."""

LEFT_OUT = {Contents, SumMeasure, ModeMeasure, BoundsMeasure}
"""Contents a plan has none of: a scan refuses them, and so does the text. A pass writes these measures as its own."""


def _forms() -> dict[type, tuple[Form, ...]]:
    return {kind: several for kind, several in forms().items() if kind.__module__.startswith("privet.")}


def _reached(hint: Any, seen: set[type]) -> Iterator[type]:
    for inner in typing.get_args(hint):
        yield from _reached(inner, seen)
    if not is_dataclass(hint) or hint in seen:
        return
    kind: Any = hint
    seen.add(kind)
    yield kind
    hints = typing.get_type_hints(kind)
    for one in fields(kind):
        yield from _reached(hints[one.name], seen)


def test_every_form_is_as_it_was_pinned() -> None:
    found = {(one.name, one.fields): dict(one.later) for several in _forms().values() for one in several}
    written = [{"name": name, "fields": list(names), "later": found[name, names]} for name, names in sorted(found)]
    assert written == json.loads(PINNED.read_text("utf-8"))


def test_all_that_a_plan_can_hold_has_a_form_and_nothing_else_has() -> None:
    seen: set[type] = set()
    reached = {kind for root in WRITTEN for kind in _reached(root, seen)}
    assert len(reached) > 40
    assert reached - LEFT_OUT == set(_forms())


def test_no_form_is_that_of_two_classes() -> None:
    every = [one for several in _forms().values() for one in several]
    assert len({(one.name, len(one.fields)) for one in every}) == len(every)
