"""Quantiles of a plan in words and as plain data: what is chosen, from what, and by how many ranks it may be off."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privet.aggregates import Ranked
from privet.core.expression import Column
from privet.mechanisms.rank_joint import RankJoint
from privet.mechanisms.rank_tree import RankTree

from .derive import columns_of, meanings
from .plan import Known, Pass, Plan
from .presence import presence_notes
from .selections import SURE
from .stability import shift_of

_NAMES = {Fraction(0): "minimum", Fraction(1, 2): "median", Fraction(1): "maximum"}


def choice_facts(one: Pass) -> list[dict[str, Any]]:
    """Return what is released as choices of one pass: each quantile with its grid, and how many ranks it may be off."""
    places = one.scan.places
    if one.selection is None or places is None:
        return []
    weight = 2 ** shift_of(one.scan.bounding)
    over = " and ".join(sorted(columns_of(places.expression))) if places.expression is not None else "1"
    where = (" where a condition holds" if places.where is not None else "") + (
        " in each group" if one.scan.keys else ""
    )
    found: dict[Fraction, dict[str, Any]] = {}
    for slot in one.selection.slots:
        draw = slot.draw
        if slot.share not in found:
            name = _NAMES.get(slot.share, f"{float(slot.share):.6g}-quantile")
            found[slot.share] = {
                "sum": f"the {name} of {over}{where}",
                "noise": "Exponential",
                "how": _how(draw),
                "places": places.high + 1,
                "step": float(places.step),
                "clamped_to": [float(places.origin + end * places.step) for end in (places.low, places.high)],
                "aims": slot.offset / weight,
                "ranks_off_95": draw.error(0.95) / weight,
                "interval_ranks": (abs(slot.offset) + draw.error(float(SURE))) / weight,
                "interval_confidence": float(SURE),
            }
        else:
            told = found[slot.share]
            told["interval_ranks"] = (abs(slot.offset) + draw.error(float(SURE))) / weight
    return list(found.values())


def _how(draw: object) -> str:
    if isinstance(draw, RankJoint):
        return "together with the others by one joint choice"
    if isinstance(draw, RankTree) and len(draw.shares) > 1:
        return "by halves, the middle quantile first, by the exponential mechanism"
    return "by the exponential mechanism"


def choice_lines(one: Pass) -> list[str]:
    """Return the choices of a pass in plain words."""
    lines = []
    for told in choice_facts(one):
        aims, grid = told["aims"], f"{told['places']:,} values, {told['step']:.6g} apart"
        if aims:
            side, far = ("smallest", "greatest") if aims > 0 else ("largest", "least")
            lines.append(
                f"Chooses {told['sum']} as a value near the {abs(aims):,.4g}th {side}, from {grid}, by the exponential "
                f"mechanism; its interval reaches from there to the declared bound. Of fewer than about "
                f"{abs(aims):,.4g} rows it lies anywhere up to the {far} value that is declared, and says nothing."
            )
        else:
            lines.append(
                f"Chooses {told['sum']} from {grid}, {told['how']}; whatever the data, 95% of choices are at most "
                f"{told['ranks_off_95']:,.4g} ranks off. The ends of its interval are at most "
                f"{told['interval_ranks']:,.4g} ranks away."
            )
    return lines


def choice_rows(one: Pass) -> list[tuple[str, ...]]:
    """Return the choices of a pass as rows of the table of releases."""
    return [
        (
            str(told["sum"]),
            f"exponential mechanism over {told['places']:,} values",
            "",
            f"{told['clamped_to'][0]:,.6g} to {told['clamped_to'][1]:,.6g}",
            f"{told['ranks_off_95'] + abs(told['aims']):,.4g} ranks",
        )
        for told in choice_facts(one)
    ]


def choice_notes(plan: Plan, confidence: float) -> list[str]:
    """Return what the intervals of quantiles cover."""
    if all(one.selection is None for one in plan.passes):
        return []
    if confidence > float(SURE):
        most = f"quantiles have intervals up to {float(SURE):.3g} probability; beyond, theirs are the declared bounds"
        return [most, *presence_notes(plan)]
    return [
        f"intervals of quantiles were drawn with them, and hold them with {float(SURE):.3g} probability or more",
        *_about_ends(plan),
        *presence_notes(plan),
    ]


def _about_ends(plan: Plan) -> list[str]:
    """Return how far inside the least and the greatest values are looked for, and what becomes of too few rows."""
    aims = [
        abs(slot.offset) / 2 ** shift_of(one.scan.bounding)
        for one in plan.passes
        if one.selection is not None
        for slot in one.selection.slots
        if slot.share in (0, 1)
    ]
    if not aims:
        return []
    return [
        f"the least and the greatest are values about {max(aims):,.4g} ranks inside, the true ones between them and "
        f"the declared bound; of fewer rows they lie anywhere up to the far bound, and say nothing"
    ]


def far_notes(plan: Plan, released: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note where a least or a greatest value came out as the far bound: most likely of too few rows.

    It is told from what was released alone.
    """
    notes = []
    for reading in plan.readings:
        ranked = reading.aggregate
        if not isinstance(ranked, Ranked) or not ranked.extreme or isinstance(reading.places[0], Known):
            continue
        grid = plan.passes[reading.places[0][0]].scan.places
        if grid is None:
            continue
        end = float(grid.origin + (grid.high if ranked.share == 0 else 0) * grid.step)
        every = list(released[reading.name])
        values = [float(value) for value in every if value is not None]
        far = sum(value >= end if ranked.share == 0 else value <= end for value in values)
        if far:
            where = f" in {far:,} of {len(every):,} groups" if plan.query.keys else ""
            shown = [name for name, meaning in meanings(plan.query).items() if meaning == Column(reading.name)]
            notes.append(f"{', '.join(shown) or reading.name}: the far bound{where}, most likely for want of rows")
    return tuple(notes)
