"""Checks a plan against the tables it will run on, before anything is charged: its claims are proven again here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privet.core.errors import InvariantError, RequestError
from privet.core.scan import Discovery, Scan
from privet.core.schema import HELD, Key, Schema, has_blocks
from privet.query.block_reads import check_retired
from privet.query.expressions import typed

from .contributions import verify_sizes
from .keys import threshold_of
from .make import private_schema
from .measures import KeyRule
from .plan import Pass, Plan
from .stability import key_sensitivity

_SUMMED = ("integer", "number")
_CHOSEN = ("boolean", None)


def verify(plan: Plan, tables: Mapping[str, Schema]) -> None:
    """Raise unless every release of a plan has noise for the sensitivity that these tables imply.

    Values that contradict themselves cannot be made (`privet.core.given`, and each value's own checks); what is
    checked here is whether they fit each other and the tables.

    Guarantee: a plan that passes costs what its event says on these tables, no matter what made it.
    """
    if type(plan) is not Plan:
        raise InvariantError("a plan is read as it is: its cost and its digest are computed, and not its own to state")
    if not plan.passes:
        raise InvariantError("a plan has at least one pass")
    _verify_written(plan)
    for pass_ in plan.passes:
        _verify_table(pass_.scan, tables)
        _verify_groups(pass_)
        _verify_kinds(pass_.scan)
        pass_.measure.verify(pass_.scan)
        _verify_keys(pass_)
    size, rest = divmod(len(plan.passes), plan.rounds)
    # the rows that a choice must distinguish depend on its noise, which is each round's own
    scans = [replace(pass_.scan, near=None) for pass_ in plan.passes]
    if rest or any(scan != scans[index % size] for index, scan in enumerate(scans)):
        raise InvariantError("the rounds of a plan do not ask the same")
    _verify_other(plan)
    passes = plan.passes[1 if plan.finds_first else 0 :]
    if any(pass_.groups != plan.groups or pass_.scan.cells != passes[0].scan.cells for pass_ in passes):
        raise InvariantError("the passes of a plan have different groups")
    _verify_cells(plan)
    if {key.expression for key in plan.query.keys} != {key.expression for key in plan.groups}:
        raise InvariantError("a plan has other groups than its question")
    hidden = any(key.values is None for key in plan.groups)
    if hidden and not plan.discovers:
        raise InvariantError("keys that are not public are released only above a threshold")
    if plan.size_places or plan.covers == "bounding":
        verify_sizes(plan)
    chosen = [pass_.measure.draws for pass_ in plan.passes if pass_.measure.draws]
    sampled = chosen and all(any(getattr(draw, "beta", 0) for draw in draws) for draws in chosen)
    if plan.covers == "population" and not sampled:
        raise InvariantError("intervals cover a population where they are drawn for it")
    _verify_readings(plan)


def verify_scan(scan: Scan, tables: Mapping[str, Schema]) -> None:
    """Raise unless a scan that sums over all rows together is one of these tables, and an engine can run it."""
    _verify_table(scan, tables)
    _verify_kinds(scan)


def _verify_table(scan: Scan, tables: Mapping[str, Schema]) -> None:
    expected = private_schema(scan.table, tables)
    if has_blocks(tables):
        check_retired(scan.table, tables)
    # columns are read by their place, and mappings are equal in any order
    if expected != scan.schema or list(expected.columns) != list(scan.schema.columns):
        raise RequestError(
            "this plan was made for other tables, or for other public facts about them; plan the question again"
        )


def _verify_written(plan: Plan) -> None:
    """Refuse a plan whose digest cannot be computed."""
    try:
        written = bool(plan.digest)
    except RecursionError:
        written = False
    if not written:
        raise RequestError("this plan is nested too deeply; split the question")


def _verify_readings(plan: Plan) -> None:
    """Refuse a plan whose answer is read from unreleased numbers: that would fail after the charge."""
    columns = [pass_.measure.columns(pass_.scan) for pass_ in plan.passes]
    for reading in plan.readings:
        for index, column in reading.noisy:
            if not 0 <= index < len(columns) or not 0 <= column < columns[index]:
                raise InvariantError("a plan reads what it does not release")


def _verify_groups(pass_: Pass) -> None:
    """Refuse public values of another kind than the grouping expression: no row would be in such a group, or an engine
    would fail at them after the charge.
    """
    for key in pass_.scan.keys:
        kind = typed(key.expression, pass_.scan.schema.columns).kind
        held = {*map(type, key.values or ())} - {type(None)}
        if held and (kind is None or held != {HELD[kind]}):
            raise InvariantError("the public values of a key are of another kind than the key")


def _verify_kinds(scan: Scan) -> None:
    """Refuse conditions and sums of a kind at which an engine would fail, after the charge."""
    places = () if scan.places is None else (scan.places,)
    for total in (*scan.sums, *places):
        if total.expression is not None and typed(total.expression, scan.schema.columns).kind not in _SUMMED:
            raise InvariantError("only numbers are summed")
    for condition in (scan.where, *(total.where for total in (*scan.sums, *places))):
        if condition is not None and typed(condition, scan.schema.columns).kind not in _CHOSEN:
            raise InvariantError("rows are chosen by what is true or false of them")
    if scan.bounding.of is not None:
        typed(scan.bounding.of, scan.schema.columns)


def _verify_cells(plan: Plan) -> None:
    """Raise unless the groups that a plan lists are different combinations of the public values of its keys."""
    keys = plan.groups
    for cells in {pass_.scan.cells for pass_ in plan.passes} - {None}:
        known = [frozenset(key.values or ()) for key in keys]
        whole = all(len(cell) == len(keys) and all(map(_among, cell, known)) for cell in cells or ())
        if not cells or not whole or len(set(cells)) < len(cells) or plan.discovers:
            raise InvariantError("the groups of a plan are not combinations of public keys")


def _among(value: Key, known: frozenset[Key]) -> bool:
    return value in known


def _verify_other(plan: Plan) -> None:
    others = tuple(key for key in plan.groups if key.other is not None)
    if bool(others) != plan.finds_first or any(key.values is not None for key in others):
        raise InvariantError("a group of all that is left stands beside values that are found first")
    if plan.finds_first and plan.passes[0].scan.keys != others:
        raise InvariantError("other values are found than those beside which all else is one group")
    if any(pass_.keys for pass_ in plan.passes[1:] if plan.finds_first and pass_.finds_groups):
        raise InvariantError("groups are found once")


def _verify_keys(pass_: Pass) -> None:
    rule, discovery = pass_.keys, pass_.scan.discovery
    if (rule is None) != (discovery is None):
        raise InvariantError("keys are discovered if and only if there is a rule to release them")
    if rule is None or discovery is None:
        return
    if isinstance(rule, KeyRule):
        _verify_rule(rule, discovery, pass_.scan.schema)
        return
    claimed = key_sensitivity(pass_.scan)
    least = threshold_of(rule.mechanism, pass_.scan, rule.delta)
    if (rule.sensitivity, rule.shift) != (claimed, discovery.shift):
        raise InvariantError("the threshold for keys is read in other units than keys were weighted in")
    if rule.mechanism.distance < rule.mechanism.moved(claimed) or rule.threshold < least:
        raise InvariantError("the threshold for keys is for another sensitivity than its scan has")


def _verify_rule(rule: KeyRule, discovery: Discovery, schema: Schema) -> None:
    claimed = (rule.mechanism.keys, rule.mechanism.group, rule.mechanism.neighbors)
    if claimed != (discovery.most, schema.unit.touches, schema.moves):
        raise InvariantError("the rule for keys is for other people than its scan has")
    if (discovery.order, discovery.shift) != (0, 0):
        raise InvariantError("the rule for keys counts each person who holds one, in full and once")
