"""The release of a plan, number by number: each integer with its group, its grid and the exact law of its noise.

Uses released numbers and public facts only. Reading an answer's measurements costs nothing more.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from privet.core.errors import BadParameter
from privet.core.given import set_fields
from privet.core.numbers import float_near, in_digits, in_full, whole
from privet.core.relation import ColumnRef, Expression
from privet.display import MOST_ROWS, Figures, draw_grid, draw_text, html_table, printable, written
from privet.mechanisms import Gaussian, Laplace
from privet.mechanisms.laws import AdditiveNoise, NoiseLaw
from privet.mechanisms.mechanism import shown
from privet.query.expressions import mentions
from privet.query.nodes import Query
from privet.query.resolve import meanings

from .measures import MeasuredColumn
from .plan import Known, Plan

if TYPE_CHECKING:
    from rich.console import Console

Released = Sequence[Any]
"""The groups, and for each pass and column one integer or value per group."""

_NOISE: Mapping[str, type[AdditiveNoise]] = {"Laplace": Laplace, "Gaussian": Gaussian}


@dataclass(frozen=True)
class Measurement:
    """One released number.

    For a sum, `released` is the noisy integer and `value` its worth, `released * step`: the sum over rows of
    (x - centre)**power - less, where `what` names x. `law` is that of the noise in `released`; a choice
    (`kind` "selection") has none, nor has a public number. A chosen place is worth `centre + step * released`.
    """

    group: Mapping[str, Any]
    what: str
    kind: str
    mechanism: str
    released: Any
    value: Any
    columns: tuple[str, ...] = ()
    """The columns of the answer that are read from it."""
    centre: Fraction = Fraction(0)
    power: int = 1
    less: Fraction = Fraction(0)
    step: Fraction | None = None
    law: NoiseLaw | None = None
    deviation: float | None = None
    """The standard deviation of the noise in `value`."""
    level: str = ""
    """The grouping that it belongs to, of several."""
    round: int = 1
    """Which round released it; 0 for all rounds combined."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can represent; exact numbers as text, such as "1/3"."""
        return {
            "group": {name: _plain(value) for name, value in self.group.items()},
            "sum": self.what,
            "kind": self.kind,
            "mechanism": self.mechanism,
            "released": _plain(self.released),
            "value": _plain(self.value),
            "columns": list(self.columns),
            "centre": str(self.centre),
            "power": self.power,
            "less": str(self.less),
            "step": None if self.step is None else str(self.step),
            "noise": None if self.law is None else self.law.to_dict(),
            "standard_deviation": self.deviation,
            **({"level": self.level} if self.level else {}),
            **({} if self.round == 1 else {"round": self.round or "combined"}),
        }


@dataclass(frozen=True, repr=False)
class Measurements(Sequence[Measurement]):
    """Every number that was released for an answer, in a table."""

    rows: tuple[Measurement, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Measurement: ...
    @overload
    def __getitem__(self, index: slice) -> Measurements: ...
    def __getitem__(self, index: int | slice) -> Measurement | Measurements:
        """Return one measurement by its place, or several as a table."""
        if type(index) is slice:
            return Measurements(self.rows[index])
        return self.rows[whole(index, "index", least=-len(self.rows), most=len(self.rows) - 1)]

    def of(self, column: str) -> Measurements:
        """Return those that one column of the answer is read from."""
        if not isinstance(column, str):
            raise BadParameter("column", column, "the name of a column")
        return Measurements(tuple(row for row in self.rows if column in row.columns))

    def to_list(self) -> list[dict[str, Any]]:
        """Return each as plain data that JSON can represent."""
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns as lists, one entry for each measurement: the keys of its group, and its facts."""
        keys = list(dict.fromkeys(name for row in self.rows for name in row.group))
        columns: dict[str, list[Any]] = {name: [row.group.get(name) for row in self.rows] for name in keys}
        optional = {"level": any(row.level for row in self.rows), "round": any(row.round != 1 for row in self.rows)}
        for name, needed in optional.items():
            if needed:
                columns[_free(name, keys)] = [getattr(row, name) for row in self.rows]
        for name, attribute in _COLUMNS.items():
            columns[_free(name, keys)] = [_cell(getattr(row, attribute)) for row in self.rows]
        return columns

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table (needs pyarrow); columns of several types as text."""
        import pyarrow

        return pyarrow.table({name: _one_type(values) for name, values in self.to_dict().items()})

    def to_pandas(self) -> Any:
        """Return the columns as a pandas frame (needs pandas)."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """Return the columns as a Polars frame (needs polars); columns of several types as text."""
        import polars

        return polars.DataFrame({name: _one_type(values) for name, values in self.to_dict().items()}, strict=False)

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_grid(console, self._figures, wraps=True)
            if len(self) > MOST_ROWS:
                draw_text(console, f"... and {len(self) - MOST_ROWS:,} more", style="dim")

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_table(self._figures, rows=len(self))}</div>"

    @cached_property
    def _figures(self) -> list[Figures]:
        lines = [_line(row) for row in self.rows[:MOST_ROWS]]
        cells: list[tuple[str, ...]] = list(zip(*lines, strict=True)) or [()] * len(_HEADS)
        return [
            Figures(head, tuple(map(printable, column)), right=head in _RIGHT)
            for head, column in zip(_HEADS, cells, strict=True)
            if head != "group" or any(column)
        ]


_HEADS = ("group", "released", "worth", "noise", "measurement")
_RIGHT = ("released", "worth")
_COLUMNS = {
    "sum": "what",
    "kind": "kind",
    "released": "released",
    "value": "value",
    "centre": "centre",
    "power": "power",
    "less": "less",
    "step": "step",
    "mechanism": "mechanism",
    "noise": "law",
    "standard_deviation": "deviation",
}


def measurements_of(plan: Plan, released: Released, asked: Query, *, level: str = "") -> Iterator[Measurement]:
    """Yield the release of a plan of one grouping, round by round, and then the combination of its rounds.

    The question that was `asked` may have several groupings, of which the plan has one.
    """
    groups = _groups(_names(plan, asked), plan.key_places, released[0])
    sums, used = released[1], _used(plan, asked)
    size = len(plan.passes) // plan.rounds
    for index, pass_ in enumerate(plan.passes):
        if pass_.keys is not None and pass_.finds_groups:
            yield from _found(groups, pass_.keys.name, _other(plan), level)
        measured = pass_.measure.measured(pass_.scan)
        for place, (column, values) in enumerate(zip(measured, sums[index], strict=False)):
            columns = used.get((index % size, place), ())
            yield from _rows(column, values, groups, columns, level=level, number=index // size + 1)
    if plan.rounds > 1:
        yield from _combined(plan, sums, groups, used, level)
    for known, names in used.items():
        if isinstance(known, Known):
            exact = MeasuredColumn("the number of rows, which is declared", "public", "none", step=Fraction(1))
            yield from _rows(exact, (known.value,) * len(groups), groups, names, level=level)


def _names(plan: Plan, asked: Query) -> list[str]:
    """Return the keys of a plan by the names under which the answer shows them, where it does."""
    shown_as: dict[Expression, str] = {meaning: name for name, meaning in reversed(meanings(asked).items())}
    return [shown_as.get(ColumnRef(key.name), key.name) for key in plan.query.keys]


def _groups(names: Sequence[str], places: Sequence[int], keys: Sequence[Sequence[Any]]) -> list[Mapping[str, Any]]:
    """Return each group by the names that the question has for its keys, which are released in another order."""
    return [{name: cell[place] for name, place in zip(names, places, strict=True)} for cell in keys]


def _rows(
    column: MeasuredColumn,
    values: Sequence[Any],
    groups: Sequence[Mapping[str, Any]],
    columns: tuple[str, ...],
    *,
    level: str = "",
    number: int = 1,
) -> Iterator[Measurement]:
    if column.bins:
        groups = [{"bin": place} if column.bins > 1 else {} for place in range(column.bins)]
    law = None if column.noise is None or not groups else column.noise.law(column.times * len(groups), whole=True)
    deviation = None if law is None or column.step is None else law.deviation * float_near(column.step)
    for group, value in zip(groups, values, strict=True):
        yield Measurement(
            group={**group, **column.inside},
            what=column.what,
            kind=column.kind,
            mechanism=column.mechanism,
            released=value,
            value=_worth(column, value),
            columns=columns,
            centre=column.centre,
            power=column.power,
            less=column.less,
            step=column.step,
            law=law,
            deviation=deviation,
            level=level,
            round=number,
        )


def _worth(column: MeasuredColumn, released: Any) -> Any:
    if column.step is None:
        return released
    exact = released * column.step
    return float_near(exact + column.centre if column.kind == "selection" else exact)


def _found(groups: Sequence[Mapping[str, Any]], mechanism: str, other: str | None, level: str) -> Iterator[Measurement]:
    """Yield which groups are shown; that of all others is always there."""
    for group in groups:
        if other is None or other not in group.values():
            named = ", ".join(map(str, group.values()))
            yield Measurement(group, "that the group is shown", "selection", mechanism, named, named, level=level)


def _other(plan: Plan) -> str | None:
    return next((key.other for key in plan.groups if key.other is not None), None)


def _combined(
    plan: Plan,
    sums: Sequence[Any],
    groups: Sequence[Mapping[str, Any]],
    used: Mapping[Any, tuple[str, ...]],
    level: str,
) -> Iterator[Measurement]:
    """Yield the averages of all rounds that sums are read from: weights are inverse to the variances of the noise."""
    for index, pass_ in enumerate(plan.passes[: len(plan.passes) // plan.rounds]):
        for place, column in enumerate(pass_.measure.measured(pass_.scan)):
            if column.noise is None or column.step is None:
                continue
            weights, unit = plan.weights((index, place)), float_near(column.step)
            deviation = plan.law((index, place)).deviation * 2 ** pass_.measures[place].shift * unit
            listed = ", ".join(f"{weight:.4g}" for weight in weights)
            for row, group in enumerate(groups):
                parts = [sums[at][number][row] for at, number in plan.across((index, place))]
                yield Measurement(
                    group=group,
                    what=column.what,
                    kind="combined",
                    mechanism=f"{column.mechanism}, averaged with weights {listed}",
                    released=None,
                    value=sum(weight * part * unit for weight, part in zip(weights, parts, strict=True)),
                    columns=used.get((index, place), ()),
                    centre=column.centre,
                    power=column.power,
                    less=column.less,
                    step=column.step,
                    deviation=deviation,
                    level=level,
                    round=0,
                )


def _used(plan: Plan, asked: Query) -> dict[Any, tuple[str, ...]]:
    """Return the columns of the answer that are read from each place."""
    read = {name: mentions(meaning) for name, meaning in meanings(asked).items()}
    columns_at: dict[Any, tuple[str, ...]] = {}
    for reading in plan.readings:
        names = tuple(name for name, columns in read.items() if reading.name in columns)
        for place in reading.places:
            columns_at[place] = tuple(dict.fromkeys((*columns_at.get(place, ()), *names)))
    return columns_at


# The same from a ledger: the public facts of a plan, and the integers that were stored for it.


def facts_of_measured(plan: Plan) -> dict[str, Any]:
    """Return how the numbers of a plan's release are read, as plain data that JSON can represent."""
    used = _used(plan, plan.query)
    finds = [pass_.keys.name for pass_ in plan.passes if pass_.keys is not None and pass_.finds_groups]
    return {
        "keys": _names(plan, plan.query),
        "places": list(plan.key_places),
        "found": finds[0] if finds else None,
        "other": _other(plan),
        "choosing": list(plan.choosing),
        "passes": [
            [
                {**_fact(column), "columns": list(used.get((index, place), ()))}
                for place, column in enumerate(pass_.measure.measured(pass_.scan))
            ]
            for index, pass_ in enumerate(plan.passes)
        ],
    }


def _fact(column: MeasuredColumn) -> dict[str, Any]:
    return {
        "what": column.what,
        "kind": column.kind,
        "mechanism": column.mechanism,
        "centre": str(column.centre),
        "power": column.power,
        "less": str(column.less),
        "step": None if column.step is None else str(column.step),
        "noise": None if column.noise is None else _parameters(column.noise),
        "times": column.times,
        "inside": dict(column.inside),
        "bins": column.bins,
    }


def _told(fact: Mapping[str, Any], limit: int) -> MeasuredColumn:
    """Return the column that `_fact` wrote, with noise for a contribution limit that was chosen."""
    return MeasuredColumn(
        fact["what"],
        fact["kind"],
        fact["mechanism"],
        centre=Fraction(fact["centre"]),
        power=fact["power"],
        less=Fraction(fact["less"]),
        step=None if fact["step"] is None else Fraction(fact["step"]),
        noise=None if fact["noise"] is None else _with_parameters(fact["mechanism"], fact["noise"], limit),
        times=fact["times"],
        inside=fact["inside"],
        bins=fact["bins"],
    )


def _parameters(noise: AdditiveNoise) -> dict[str, str]:
    """Return the fields of a mechanism as plain data; exact numbers as text."""
    return {field.name: str(getattr(noise, field.name)) for field in fields(noise)}  # type: ignore[arg-type]


def _with_parameters(name: str, parameters: Mapping[str, str], limit: int) -> AdditiveNoise:
    """Return a mechanism with the fields that were written, at `limit` times the distance, to ask for its law."""
    kind = _NOISE[name]
    made = object.__new__(kind)
    powers = {"sensitivity": 1, "scale": 1, "sensitivity_squared": 2, "sigma_squared": 2}
    exact = {
        key: text if key == "grid" else Fraction(text) * limit ** powers.get(key, 0) for key, text in parameters.items()
    }
    set_fields(made, **{field.name: exact[field.name] for field in fields(kind)})  # type: ignore[arg-type]
    return made


def stored_measurements(facts: Sequence[Mapping[str, Any]], stored: Any) -> Measurements:
    """Return the measurements of a stored release: of the keys and sums of one plan, or of each plan of a batch."""
    parts = stored if len(stored) == len(facts) else (stored,)
    return Measurements(tuple(row for plan, part in zip(facts, parts, strict=True) for row in _stored(plan, part)))


def _stored(facts: Mapping[str, Any], released: Released) -> Iterator[Measurement]:
    groups = _groups(facts["keys"], facts["places"], released[0])
    if facts["found"] is not None:
        yield from _found(groups, facts["found"], facts["other"], "")
    limits = {place + 1: int(released[1][place][1][0]) for place in facts["choosing"]}
    for place, (listed, columns) in enumerate(zip(facts["passes"], released[1], strict=True)):
        for fact, values in zip(listed, columns, strict=False):
            yield from _rows(_told(fact, limits.get(place, 1)), values, groups, tuple(fact["columns"]))


def _line(row: Measurement) -> tuple[str, ...]:
    names = [*([row.level] if row.level else []), *(f"{name} {value}" for name, value in row.group.items())]
    if row.round != 1:
        names.append(f"round {row.round}" if row.round else "all rounds")
    noise = {"selection": f"none: chosen by {row.mechanism}", "public": "none: public"}.get(row.kind, row.mechanism)
    if row.law is not None:
        name, parameter = row.law.parameter
        noise = f"{type(row.law).__name__}({name}={shown(parameter)})"
    if row.deviation is not None:
        noise += f", deviation {in_digits(row.deviation, 4)}"
    worth = in_full(row.value) if isinstance(row.value, float) else str(row.value)
    released = "" if row.released is None else f"{row.released:,}" if type(row.released) is int else str(row.released)
    return ", ".join(names), released, worth, noise, row.what


def _cell(value: Any) -> Any:
    """Return a value for a table: exact numbers and laws as text."""
    return str(value) if isinstance(value, Fraction) else repr(value) if isinstance(value, NoiseLaw) else value


def _one_type(values: list[Any]) -> list[Any]:
    """Return a column as it is, or as text where it has several types, or integers beyond 64 bits."""
    kinds = {type(value) for value in values} - {type(None)}
    wide = kinds == {int} and any(value is not None and not -(2**63) <= value < 2**63 for value in values)
    return [None if value is None else str(value) for value in values] if len(kinds) > 1 or wide else values


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value
