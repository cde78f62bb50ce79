"""Whatever a mechanism gives can be audited: vectors, texts, tables, errors, and what is not there."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest

from privet.audit import audit
from privet.audit.releases import read_releases, row_codes
from privet.core.errors import RequestError

LEAK = 0.9
"""How often the bit below is told as it is: an epsilon of log 9."""
generator = np.random.default_rng()


@dataclass(frozen=True)
class Record:
    flag: bool
    size: float


def told(bit: int) -> bool:
    return bool(bit) == (generator.random() < LEAK)


def refuse(bit: int) -> int:
    if told(bit):
        raise ValueError("too many")
    return 3


FORMS: dict[str, Callable[[int], Any]] = {
    "text": lambda bit: "yes" if told(bit) else "no",
    "bytes": lambda bit: b"yes" if told(bit) else b"no",
    "None now and then": lambda bit: None if told(bit) else generator.random(),
    "NaN now and then": lambda bit: math.nan if told(bit) else generator.random(),
    "infinite now and then": lambda bit: math.inf if told(bit) else generator.random(),
    "minus infinite now and then": lambda bit: -math.inf if told(bit) else generator.random(),
    "an error now and then": refuse,
    "a number or a text": lambda bit: "many" if told(bit) else 7,
    "several lengths": lambda bit: [generator.random()] * (2 if told(bit) else 3),
    "sometimes empty": lambda bit: [] if told(bit) else [1.0],
    "huge whole numbers": lambda bit: 10**400 if told(bit) else 10**30,
    "decimals": lambda bit: Decimal("1.5") if told(bit) else Fraction(1, 3),
    "dict with other keys": lambda bit: {"a": 1, ("b" if told(bit) else "c"): 2},
    "list of dicts": lambda bit: [{"city": "A", "n": 1}, {"city": "B", "n": int(told(bit))}],
    "data frame": lambda bit: pandas.DataFrame({"city": ["A", "B"], "n": [1, int(told(bit))]}),
    "arrow table": lambda bit: pyarrow.table({"city": ["A", "B"], "n": [1, int(told(bit))]}),
    "set": lambda bit: {"a", "b"} if told(bit) else {"a"},
    "record": lambda bit: Record(told(bit), 1.0),
    "array": lambda bit: np.array([[0, told(bit)], [1, 2]]),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_output_is_told_apart_and_no_more_than_it_leaks(name: str) -> None:
    report = audit(FORMS[name], (0, 1), 1, 2_000)  # misses what it leaks less than once in 1e12 runs
    assert report.refuted
    assert report.found < math.log(LEAK / (1 - LEAK))
    assert not audit(FORMS[name], (1, 1), 0.5, 400).refuted


def test_a_value_that_few_of_many_numbers_share_is_seen() -> None:
    def clamped(bit: int, count: int) -> Any:
        drawn = generator.normal(0, 1, count)
        return np.where(generator.random(count) < (0.004 if bit else 0.0), 0.125, drawn)

    report = audit(clamped, (0, 1), 1, 100_000, batched=True)
    assert report.refuted
    assert report.witness == "output is 0.125"


def test_noise_that_two_coordinates_share_does_not_hide_their_difference() -> None:
    def shared(bit: int, count: int) -> Any:
        noise = generator.laplace(0, 100, count)
        return np.stack([noise, noise + bit + generator.laplace(0, 0.5, count)], axis=1)

    report = audit(shared, (0, 1), 1, 40_000, batched=True)
    assert report.refuted
    assert 1.5 < report.found < 2


def test_parities_of_two_bits_are_seen_though_each_bit_alone_tells_nothing() -> None:
    def parity(bit: int, count: int) -> Any:
        first = generator.integers(0, 2, count)
        other = first ^ bit ^ (generator.random(count) > LEAK)
        return [(["no", "yes"][a], ["no", "yes"][b]) for a, b in zip(first, other, strict=True)]

    report = audit(parity, (0, 1), 1.5, 4_000, batched=True)
    assert report.refuted
    assert re.search(r"\('(yes|no)', '(yes|no)'\)", report.witness)  # both bits: one alone is a fair coin


def test_a_batch_may_be_a_data_frame_whose_rows_are_releases() -> None:
    def frame(bit: int, count: int) -> Any:
        return pandas.DataFrame({"n": generator.laplace(bit, 0.5, count), "m": np.zeros(count)})

    report = audit(frame, (0, 1), 1, 20_000, batched=True)
    assert report.refuted
    assert "output['n']" in report.witness


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (lambda bit, count: 7, "one value of type int"),
        (lambda bit, count: "seven", "one value of type str"),
        (lambda bit, count: [1] * (count + 1), "returned"),
        (lambda bit, count: (k for k in range(count)), "one value of type generator"),
        (lambda bit, count: [object()] * count, "one that returns object"),
        (lambda bit, count: 1 / bit, "raised ZeroDivisionError (division by zero)"),
        (lambda bit, count: pandas.DataFrame({"n": ["a"] * count}), "a dict for each of its rows"),
    ],
)
def test_what_is_not_so_many_releases_is_refused_by_name(batch: Callable[[int, int], Any], said: str) -> None:
    with pytest.raises(RequestError) as refused:
        audit(batch, (0, 1), 1, 200, batched=True)
    assert said in str(refused.value)


def test_a_mechanism_that_never_returns_is_refused_with_its_error() -> None:
    with pytest.raises(RequestError, match=r"raised KeyError \('age'\) on every call"):
        audit(lambda bit: {}["age"], (0, 1), 1, 200)


def test_rows_are_told_apart_by_every_cell() -> None:
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    codes = row_codes(rows)
    assert codes[0] == codes[2]
    assert len(set(codes.tolist())) == 3


def test_places_are_kept_apart_where_releases_have_several_shapes() -> None:
    read = read_releases([[1.0, 2.0], [3.0], {"n": 4}], 3)
    assert set(read.columns) == {(0,), (1,), ("n",)}
    assert read.at([(0,)])[:2, 0].tolist() == [1.0, 3.0]
    absent = read.at([(1,)])[:, 0]
    assert absent[0] == 2.0
    assert absent[1] == absent[2] < -1e299


def test_tails_of_any_weight_and_few_releases_do_no_harm() -> None:
    for draws in (100, 5_000):
        assert not audit(lambda _, n: generator.standard_cauchy(n) ** 5, (0, 1), 0, draws, batched=True).refuted
        assert not audit(lambda bit: bit, (1, 1), 0, draws).refuted


def test_a_delta_near_one_allows_what_a_small_one_does_not() -> None:
    assert not audit(lambda bit: bit, (0, 1), (0.1, 0.9999), 2_000).refuted
    assert audit(lambda bit: bit, (0, 1), (0.1, 0.9), 2_000).refuted
