"""The fixed plan of a stream, and its state as text: that of the mechanism, the people and the clock.

Each text has a fresh salt, so that the hash of it, which the ledger shows, hides its contents. It includes
the hash of all releases.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

from privet.accounting.convert import rho_epsilon
from privet.core.budget import Pure, Zcdp
from privet.core.errors import LedgerError, PrivetError, RequestError
from privet.core.event import Event
from privet.core.given import choice
from privet.core.numbers import Number, open_probability, positive
from privet.core.unit import Neighbors

from .arrivals import Layout, StepClock, read_clock
from .buffered import BufferedSums
from .files import BEGINNING_MARK
from .roots import LONGEST_ROOT, MOST_CELLS, RootSums
from .sums import RunningSums, Spend
from .tree import TreeSums

Method = Literal["tree", "square-root", "buffered"]
METHODS = ("tree", "square-root", "buffered")

FORMAT = 1
RECORD = 8
"""The bytes of one released number."""

BEGINNING = bytes(32).hex()
"""The hash of releases before the first step."""

_SUMS: dict[str, type[RunningSums[Any]]] = {kind.method: kind for kind in (TreeSums, RootSums, BufferedSums)}


@dataclass(frozen=True, kw_only=True)
class StreamPlan:
    """The fixed plan of a stream: its identity, its account, its mechanism, its layout and its clock."""

    identity: str
    account: str
    sums: RunningSums[Any]
    layout: Layout
    clock: StepClock | None = None

    @property
    def event(self) -> Event:
        """The total cost of the stream."""
        return self.sums.event

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        clock = self.clock
        return {
            "identity": self.identity,
            "account": self.account,
            "sums": self.sums.parameters(),
            "layout": {
                "low": str(self.layout.low),
                "high": str(self.layout.high),
                "grid": str(self.layout.grid),
                "groups": None if self.layout.groups is None else list(self.layout.groups),
                "rows": self.layout.rows,
            },
            "clock": None if clock is None else clock.to_dict(),
        }


def read_spend(epsilon: Number | None, delta: Number | None, rho: Number | None) -> Spend:
    """Return the cost of a stream: a pure epsilon, or the largest rho that epsilon and delta allow."""
    if (epsilon is None) == (rho is None):
        raise RequestError("Pass either epsilon or rho, not both, for all steps of the stream together.")
    if rho is not None:
        if delta is not None:
            raise RequestError("Pass delta with epsilon; rho has none.")
        return Zcdp(rho=rho)
    if delta is None:
        return Pure(epsilon=cast(Number, epsilon))
    most, allowed = positive(epsilon, "epsilon"), open_probability(delta, "delta")
    low, high = Fraction(0), most
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rho_epsilon(middle, allowed) <= most else (low, middle)
    return Zcdp(rho=Fraction(math.floor(low * 2**70), 2**70))


def choose_sums(
    horizon: int, spend: Spend, layout: Layout, neighbors: Neighbors, method: Method | None, *, refine: bool
) -> RunningSums[Any]:
    """Return the mechanism with the least error for a cost and a horizon, or the one that is named.

    The tree is for pure epsilon. Otherwise the square root has the least error and keeps no exact sum; where it would
    keep too many numbers, a few buffers take its place.
    """
    small = horizon <= LONGEST_ROOT and horizon * layout.width <= MOST_CELLS
    best = "tree" if isinstance(spend, Pure) else "square-root" if small else "buffered"
    named = best if method is None else choice(method, "method", METHODS)
    shape: dict[str, Any] = {
        "horizon": horizon,
        "spend": spend,
        "width": layout.width,
        "bound": layout.bound,
        "rows": layout.rows or 1,
        "neighbors": neighbors,
    }
    if named == "tree":
        return TreeSums(**shape, refine=refine)
    return RootSums(**shape) if named == "square-root" else BufferedSums(**shape)


@dataclass(frozen=True, kw_only=True)
class StreamState:
    """The state of a stream after a step: private, and never shown.

    `batch` are the releases of the last steps, so that they become durable with the state or not at all. `noise` is the
    hash of noise that was drawn for later steps, and `people` and `counted` the mark and the hash of the table of
    people.
    """

    plan: StreamPlan
    state: Any
    secret: str
    shown: str = BEGINNING
    batch: bytes = b""
    before: str | None = None
    opening: int | None = None
    noise: str | None = None
    people: str = BEGINNING_MARK
    counted: int = 0

    @property
    def step(self) -> int:
        """How many steps were closed."""
        return self.plan.sums.step_of(self.state)

    @property
    def batch_start(self) -> int:
        """The byte of all releases at which the last batch begins."""
        return self.step * self.plan.layout.width * RECORD - len(self.batch)


def begin(plan: StreamPlan) -> StreamState:
    """Return the state of a stream before its first step."""
    return StreamState(plan=plan, state=plan.sums.begin(), secret=secrets.token_hex(32))


def write_kept(kept: StreamState) -> bytes:
    """Return a state as text, with a fresh salt."""
    data = {
        "privet stream": FORMAT,
        "salt": secrets.token_hex(32),
        "plan": kept.plan.to_dict(),
        "state": kept.plan.sums.write_state(kept.state),
        "secret": kept.secret,
        "shown": kept.shown,
        "batch": base64.b64encode(kept.batch).decode("ascii"),
        "before": kept.before,
        "opening": kept.opening,
        "noise": kept.noise,
        "people": kept.people,
        "counted": f"{kept.counted:064x}",
    }
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def read_kept(body: bytes) -> StreamState:
    """Return the state in a text, or raise `LedgerError` where it is cut short or no state."""
    try:
        data = json.loads(body)
        if data["privet stream"] != FORMAT:
            raise LedgerError("the stream was written by a newer version of Privet; open it with that version")
        plan = read_plan(data["plan"])
        opening = None if data["opening"] is None else int(data["opening"])
        before, ahead = (None if data[name] is None else str(data[name]) for name in ("before", "noise"))
        return StreamState(
            plan=plan,
            state=plan.sums.read_state(data["state"]),
            secret=bytes.fromhex(data["secret"]).hex(),
            shown=bytes.fromhex(data["shown"]).hex(),
            batch=_batch(data["batch"], plan),
            before=before,
            opening=opening,
            noise=ahead,
            people=str(data["people"]),
            counted=int(data["counted"], 16),
        )
    except LedgerError:
        raise
    except (PrivetError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError):
        pass
    raise LedgerError("the stream's state is cut short or damaged: put back the latest copy; it is never repaired")


def _batch(text: str, plan: StreamPlan) -> bytes:
    batch = base64.b64decode(text, validate=True)
    if len(batch) % (plan.layout.width * RECORD):
        raise ValueError
    return batch


def read_plan(data: Any) -> StreamPlan:
    """Return the plan that was written."""
    layout = data["layout"]
    return StreamPlan(
        identity=str(data["identity"]),
        account=str(data["account"]),
        sums=read_sums(data["sums"]),
        layout=Layout(
            low=Fraction(layout["low"]),
            high=Fraction(layout["high"]),
            grid=Fraction(layout["grid"]),
            groups=None if layout["groups"] is None else tuple(layout["groups"]),
            rows=layout["rows"],
        ),
        clock=read_clock(data["clock"]),
    )


def read_sums(data: Any) -> RunningSums[Any]:
    """Return the mechanism that was written."""
    fields = dict(data)
    kind = _SUMS[fields.pop("method")]
    epsilon, rho = fields.pop("epsilon", None), fields.pop("rho", None)
    fields["spend"] = Zcdp(rho=Fraction(rho)) if epsilon is None else Pure(epsilon=Fraction(epsilon))
    for name in ("factors", "weights"):
        if name in fields:
            fields[name] = tuple(fields[name])
    return kind(**fields)
