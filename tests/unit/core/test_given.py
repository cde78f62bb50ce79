"""Arguments that are not numbers are read as what they are, or refused by name; nothing that they raise gets out."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest

from privet.accounting import best_accuracy
from privet.core import given
from privet.core.errors import BadParameter, RequestError
from privet.core.event import Composed, Event, Repeated, read_event
from privet.mechanisms import LaplaceEvent


class Tricky(str):
    """A text that says that it equals all others."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Raises:
    """Raises whatever it is asked for."""

    def __getattr__(self, name: str) -> object:
        raise KeyError("secret-77")


def test_a_choice_is_the_name_that_is_known_and_not_what_claims_to_equal_it() -> None:
    assert given.choice("fine", "grid", ("whole", "fine")) == "fine"
    assert type(given.choice(Tricky("fine"), "grid", ("whole", "fine"))) is str
    for wrong in (Tricky("other"), "Fine", None, 1, ["fine"]):
        with pytest.raises(BadParameter, match="grid must be 'whole' or 'fine'"):
            given.choice(wrong, "grid", ("whole", "fine"))


def test_only_true_and_false_are_truth_values() -> None:
    import numpy as np

    assert given.truth(np.bool_(True), "batched") is True
    for wrong in (0, 1, "", "yes", None, np.array([True]), 1.0):
        with pytest.raises(BadParameter, match="batched must be True or False"):
            given.truth(wrong, "batched")


def test_lists_are_taken_up_to_a_length_and_texts_and_mappings_are_none() -> None:
    assert given.listed((x for x in (1, 2)), "mus") == [1, 2]
    assert given.listed("ab", "domain", texts=True) == ["a", "b"]
    for wrong in ("ab", b"ab", {"a": 1}, 3, None, range(10**18), Raises(), int):
        with pytest.raises(BadParameter, match="mus must be"):
            given.listed(wrong, "mus")


def test_what_iterating_or_calling_raises_is_not_quoted() -> None:
    def broken() -> Any:
        yield 1
        raise KeyError("secret-77")

    with pytest.raises(RequestError, match="rows must be") as caught:
        given.listed(broken(), "rows")
    assert "secret-77" not in str(caught.value)
    with pytest.raises(RequestError, match="make must be a function that works") as caught:
        given.called(lambda number: Raises().anything, "make", 1)
    assert "secret-77" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_event_is_an_instance_and_asking_raises_nothing() -> None:
    event = LaplaceEvent(sensitivity=1, scale=1)
    assert read_event(event) is event
    for wrong in (LaplaceEvent, Raises(), "event", None):
        assert not given.is_a(wrong, Event)
        with pytest.raises(RequestError, match="events must be"):
            read_event(wrong)


@pytest.mark.parametrize("empty", [Composed(()), Repeated(LaplaceEvent(sensitivity=1, scale=1), 0)])
def test_an_order_is_read_also_where_nothing_depends_on_it(empty: Event) -> None:
    assert empty.rdp(2.0) == 0
    for wrong in ("2", None, 1, math.nan, 10**400):
        with pytest.raises(RequestError, match="order must be"):
            empty.rdp(wrong)  # type: ignore[arg-type]


def test_a_moment_beyond_the_calendar_is_refused_by_name() -> None:
    west = datetime.timezone(datetime.timedelta(hours=-14))
    for wrong in (datetime.datetime.max.replace(tzinfo=west), datetime.datetime(2025, 1, 1), "now", None):
        with pytest.raises(BadParameter, match="expires must be"):
            given.moment(wrong, "expires")


@dataclass(frozen=True)
class Record:
    """One field of each kind."""

    name: str
    count: int
    share: Fraction
    width: float
    yes: bool
    where: Path
    way: Literal["sum", "max"]
    pairs: tuple[tuple[int, float], ...]
    by: Mapping[str, int]
    more: int | None = None

    def __post_init__(self) -> None:
        given.read_fields(self)


GOOD: dict[str, Any] = {
    "name": "n",
    "count": 3,
    "share": 0.5,
    "width": Fraction(1, 4),
    "yes": True,
    "where": "a/b",
    "way": "sum",
    "pairs": [[1, 2]],
    "by": {"a": 1},
}


def test_fields_are_read_as_their_annotations_say() -> None:
    made = Record(**GOOD)
    assert (made.share, made.width, made.where, made.pairs) == (Fraction(1, 2), 0.25, Path("a/b"), ((1, 2.0),))
    assert type(made.width) is float
    assert Record(**{**GOOD, "width": math.inf}).width == math.inf


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", 1),
        ("name", "a\x00b"),
        ("count", True),
        ("count", 1.0),
        ("share", math.nan),
        ("share", "0.5"),
        ("width", math.nan),
        ("width", 10**400),
        ("width", True),
        ("yes", 1),
        ("where", ""),
        ("where", 3),
        ("way", "min"),
        ("pairs", [[1]]),
        ("pairs", [[1, "2"]]),
        ("pairs", "ab"),
        ("by", [("a", 1)]),
        ("by", {"a": "b"}),
        ("more", "1"),
    ],
)
def test_a_field_of_another_kind_is_refused_by_its_name(field: str, wrong: object) -> None:
    with pytest.raises(BadParameter, match=f"^{field} must be"):
        Record(**{**GOOD, field: wrong})


def test_the_best_accuracy_takes_no_delta_beside_an_event_that_has_its_own() -> None:
    event = LaplaceEvent(sensitivity=1, scale=1)
    with pytest.raises(RequestError, match="delta must be left out"):
        best_accuracy(event, 0.1)
    assert best_accuracy(1, 0.1) > best_accuracy(1) > best_accuracy(event, 0) > 0.5


@pytest.mark.parametrize("long", [range(11), range(10**30), range(0, -(10**12), -1)], ids=str)
def test_a_range_that_is_too_long_is_refused_without_being_listed(long: range) -> None:
    with pytest.raises(BadParameter, match="at most 10 items"):
        given.listed(long, "values", most=10)
    assert given.listed(range(10), "values", most=10) == list(range(10))


def test_a_list_and_a_generator_of_too_many_items_are_refused() -> None:
    for long in (list(range(11)), iter(range(11)), {*range(11)}):
        with pytest.raises(BadParameter, match="at most 10 items"):
            given.listed(long, "values", most=10)
