"""Entries of a ledger: one frozen value for each kind, and its canonical JSON, both ways."""

from __future__ import annotations

import datetime
import json
import marshal
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec

from privet.core.budget import Approximate, Budget, WEvent
from privet.core.division import Touched
from privet.core.errors import LedgerError, RequestError, raise_alone
from privet.core.event import Entry, Event, Exact, Plain

from . import codec
from .codec import canonical

# One frozen value for each kind of entry. What each means for the balance is computed in `state`, and nowhere here.


Time = datetime.datetime


def _data(text: str) -> Any:
    """Return what JSON stands for. The faster reader refuses some of what the other writes, such as half characters."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return json.loads(text)


@lru_cache(maxsize=1024)  # most questions cost what others did
def _event(written: bytes) -> Event:
    return codec.read_event(marshal.loads(written))


@dataclass(frozen=True)
class Cap:
    """A budget of an account, with the parts that were fixed when it was opened: the order, and the part for keys."""

    budget: Budget
    order: float | None
    keys_share: Fraction


@dataclass(frozen=True)
class Opened:
    """The first entry: the data set's cap, the most that one query may cost, and when spending ends."""

    ledger: str
    cap: Cap
    per_query: Budget | None
    expires: Time | None


@dataclass(frozen=True)
class AccountOpened:
    """An analyst may spend, up to a cap of their own."""

    account: str
    cap: Cap
    expires: Time | None


@dataclass(frozen=True)
class ToppedUp:
    """More budget for an account, or for the data set where no account is named."""

    account: str | None
    cap: Cap
    reason: str


@dataclass(frozen=True)
class Limited:
    """Another limit on what one query may cost, or none."""

    per_query: Budget | None
    reason: str


@dataclass(frozen=True)
class Rescheduled:
    """Another end of spending, or none, for an account or for the data set where no account is named."""

    account: str | None
    expires: Time | None
    reason: str


@dataclass(frozen=True)
class Payment:
    """What one filter took for an event, in its own measures, each exact: its number, and amounts in a fixed order."""

    filter: int
    amounts: tuple[Exact, ...]


@dataclass(frozen=True)
class Charged:
    """An event that is about to happen, as it is written, and what the data set's and the account's filters took.

    Balances add up the amounts taken, so that no other machine and no later version comes to another sum.
    """

    account: str
    digest: str
    event_data: codec.Json
    key: str | None = None
    shared: int | None = None
    by_dataset: Payment | None = None
    by_account: Payment | None = None
    versions: tuple[tuple[str, str], ...] = ()
    text: str = ""
    facts_text: str | None = None
    """The public facts about the plan, as the text of a JSON object; None in entries of the first version."""
    blocks: Touched | None = None
    """The blocks that are read, where the charge counts for units in these alone."""

    @property
    def event(self) -> Event:
        """The event itself."""
        return _event(marshal.dumps(self.event_data, 2))

    @property
    def facts(self) -> dict[str, Any]:
        """The public facts about the plan, as plain data; nothing where nothing is known."""
        if self.facts_text is None:
            return {}
        try:
            facts = _data(self.facts_text)
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict):
            raise LedgerError("what the ledger records of a plan is not as Privet writes it")
        return facts


@dataclass(frozen=True)
class Answered:
    """What a charge released, as it is written."""

    account: str
    digest: str
    charge: int
    released_data: codec.Json

    @property
    def released(self) -> Plain:
        """The released values themselves."""
        return codec.read_plain(self.released_data)


@dataclass(frozen=True)
class Failed:
    """The engine failed after a charge."""

    account: str
    charge: int


@dataclass(frozen=True)
class Cleared:
    """A frozen account may spend again."""

    account: str
    reason: str


@dataclass(frozen=True)
class Frozen:
    """The custodian lets an account spend nothing more, until it is cleared."""

    account: str
    reason: str


@dataclass(frozen=True)
class Acted:
    """Who did what besides spending: a log-in, a token that was made or revoked, a request that was decided.

    It changes no balance. `actor` and `role` are those of the one who acted, and `account` is whom it is about.
    """

    actor: str
    role: str
    act: str
    account: str | None
    note: str


@dataclass(frozen=True)
class Stepped:
    """A step of a release in several: its first state, steps that are about to be drawn, or the state after them.

    `step` is the last one of those that are opened or closed; `state` is the hash of the state from which they are
    opened, or with which they are closed. `about` names what is asked where the steps differ, `released_data` is what a
    step showed where the ledger is to record it, and after the `last` one none is opened.
    """

    account: str
    charge: int
    phase: str
    step: int
    state: str
    about: str | None = None
    released_data: codec.Json = None
    last: bool = False

    @property
    def released(self) -> Plain:
        """The released values themselves."""
        return codec.read_plain(self.released_data)


@dataclass(frozen=True)
class PromiseOpened:
    """An account whose promise is about windows of steps, for one stream: it has no cap, and pays for nothing else.

    `digest` stands for the stream's plan, and `facts_text` has the public facts about it, as the text of a JSON object.
    """

    account: str
    digest: str
    promise: WEvent
    facts_text: str


Rule = Opened | AccountOpened | ToppedUp | Limited | Rescheduled
"""The rules: what may be spent."""

Record = Rule | Charged | Answered | Failed | Cleared | Frozen | Acted | Stepped | PromiseOpened


@dataclass(frozen=True)
class Written:
    """A record in its place: the number and the time of its entry."""

    number: int
    time: Time
    record: Record

    @property
    def kind(self) -> str:
        """The word for its kind, as it is written."""
        return kind_of(self.record)

    @property
    def account(self) -> str | None:
        """The account that it is about; None where it is about the data set."""
        account: str | None = getattr(self.record, "account", None)
        return account

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as it is written, as plain data; the facts of a plan as data as well."""
        body: dict[str, Any] = json.loads(write_entry(self.number, self.time, self.record))
        return {**body, "facts": json.loads(body["facts"])} if "facts" in body else body

    def entry(self) -> Entry:
        """Return a charge as callers get it."""
        charge = self.record
        if not isinstance(charge, Charged):
            raise LedgerError(f"entry {self.number} of the ledger is not a charge")
        return Entry(
            self.number,
            write_time(self.time),
            charge.account,
            charge.digest,
            charge.event,
            charge.key,
            charge.shared,
            charge.versions,
            charge.text,
            charge.facts,
        )


def write_time(time: Time) -> str:
    """Return a point in time as text, in UTC and to the microsecond, so that texts sort as times do."""
    return time.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


# The entries that state what may be spent, as plain data and back: caps, accounts, top-ups, limits, ends.


_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def read_time(text: Any) -> Time:
    """Return the point in time that a text spells the one way in which it is written."""
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise LedgerError("a time in the ledger is not as Privet writes it: the file was damaged or changed")
    return datetime.datetime.fromisoformat(text)


def _read_until(text: Any) -> Time | None:
    return None if text is None else read_time(text)


def _until(time: Time | None) -> str | None:
    return None if time is None else write_time(time)


def text(value: Any) -> str:
    """Return a text, or raise `TypeError`."""
    if type(value) is not str:
        raise TypeError
    return value


def maybe_text(value: Any) -> str | None:
    """Return a text or None, or raise `TypeError`."""
    return None if value is None else text(value)


def _most(budget: Budget | None) -> Any:
    return None if budget is None else codec.write_budget(budget)


def _read_most(data: Any) -> Budget | None:
    return None if data is None else codec.read_budget(data)


def _write_cap(cap: Cap) -> dict[str, Any]:
    order = None if cap.order is None else codec.write_rational(Fraction(cap.order))
    return {
        "budget": codec.write_budget(cap.budget),
        "order": order,
        "keys_share": codec.write_rational(cap.keys_share),
    }


def _read_cap(data: Any) -> Cap:
    if data.keys() != {"budget", "order", "keys_share"}:
        raise ValueError
    order = None if data["order"] is None else float(codec.read_rational(data["order"]))
    cap = Cap(codec.read_budget(data["budget"]), order, codec.read_rational(data["keys_share"]))
    if isinstance(cap.budget, Approximate) != (order is not None):
        raise ValueError
    return cap


def _write_opened(record: Opened) -> dict[str, Any]:
    return {
        "ledger": record.ledger,
        "cap": _write_cap(record.cap),
        "per_query": _most(record.per_query),
        "expires": _until(record.expires),
    }


def _read_opened(data: Any) -> Opened:
    most, until = _read_most(data["per_query"]), _read_until(data["expires"])
    return Opened(text(data["ledger"]), _read_cap(data["cap"]), most, until)


def _write_account(record: AccountOpened) -> dict[str, Any]:
    return {"account": record.account, "cap": _write_cap(record.cap), "expires": _until(record.expires)}


def _read_account(data: Any) -> AccountOpened:
    return AccountOpened(text(data["account"]), _read_cap(data["cap"]), _read_until(data["expires"]))


def _write_top_up(record: ToppedUp) -> dict[str, Any]:
    return {"account": record.account, "cap": _write_cap(record.cap), "reason": record.reason}


def _read_top_up(data: Any) -> ToppedUp:
    return ToppedUp(maybe_text(data["account"]), _read_cap(data["cap"]), text(data["reason"]))


RULES: dict[type, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any], Record]]] = {
    Opened: ("open", _write_opened, _read_opened),
    AccountOpened: ("account", _write_account, _read_account),
    ToppedUp: ("top-up", _write_top_up, _read_top_up),
    Limited: (
        "limit",
        lambda record: {"per_query": _most(record.per_query), "reason": record.reason},
        lambda data: Limited(_read_most(data["per_query"]), text(data["reason"])),
    ),
    Rescheduled: (
        "expiry",
        lambda record: {"account": record.account, "expires": _until(record.expires), "reason": record.reason},
        lambda data: Rescheduled(maybe_text(data["account"]), _read_until(data["expires"]), text(data["reason"])),
    ),
}
"""How each of them is written: its word, and both ways."""


# Entries as text: the canonical JSON of each kind of record, and back. Whatever is spelt in another way is refused.


def _no_float(text: str) -> float:
    raise ValueError(text)


_DECODER = msgspec.json.Decoder(float_hook=_no_float)  # floats are not written alike by both, and entries have none
_ENCODER = msgspec.json.Encoder(order="sorted")

FORMAT = 1
"""The version of the entries that are written. Those of later versions are refused."""

WITH_FACTS = 2
"""The version of charges that also contain their plan as plain data."""

WITH_BLOCKS = 3
"""The version of charges that count for some blocks alone."""

WITH_ACTS = 4
"""The version of entries about people: who acted, and whom the custodian froze."""

_VERSIONS = {"act": WITH_ACTS, "freeze": WITH_ACTS}


def write_entry(number: int, time: Time, record: Record) -> str:
    """Return the canonical text of an entry."""
    kind, write, _ = _KINDS[type(record)]
    fields = write(record)
    version = _VERSIONS.get(kind, FORMAT)
    if kind == "charge":
        version = WITH_BLOCKS if "blocks" in fields else WITH_FACTS if "facts" in fields else FORMAT
    return canonical({"v": version, "kind": kind, "number": number, "time": write_time(time), **fields})


def read_entry(body: object) -> Written:
    """Return the entry that a canonical text stands for, or raise `LedgerError`."""
    data = _parsed(body)
    if type(data.get("v")) is not int or data["v"] not in (FORMAT, WITH_FACTS, WITH_BLOCKS, WITH_ACTS):
        raise LedgerError("the ledger was written by a newer version of Privet; open it with that version")
    number, kind, time = data.get("number"), data.get("kind"), data.get("time")
    if type(number) is not int or kind not in _READERS:
        raise LedgerError("the ledger contains an entry of a kind that this version of Privet does not know")
    if data.keys() != _FIELDS.get((data["v"], kind)):
        raise _impossible(kind)
    try:
        written = Written(number, read_time(time), _READERS[kind](data))
    except (RequestError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise_alone(_impossible(kind))
    return written


def _parsed(body: object) -> dict[str, Any]:
    try:
        if isinstance(body, str) and (data := _quickly(body)) is not None:
            return data
        data = json.loads(body) if isinstance(body, str) else None
        if isinstance(data, dict) and canonical(data) == body:
            return data
    except (ValueError, RecursionError):
        pass
    raise _impossible("not canonical")


def _quickly(body: str) -> dict[str, Any] | None:
    """Return what a text stands for if a faster reader, writing it again, comes to the same text; otherwise None.

    What both readers write in the same way they read in the same way; all else is left to the slower one.
    """
    try:
        data = _DECODER.decode(body)
        return data if type(data) is dict and _ENCODER.encode(data) == body.encode("ascii") else None
    except (ValueError, RecursionError):
        return None


def _impossible(kind: str) -> LedgerError:
    return LedgerError(f"an entry of the ledger ({kind}) is not as Privet writes it: the file was damaged or changed")


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _maybe_whole(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _write_payment(payment: Payment | None) -> Any:
    return None if payment is None else [payment.filter, *map(codec.write_amount, payment.amounts)]


def _read_payment(data: Any) -> Payment | None:
    return None if data is None else _payment(*data)


@lru_cache(maxsize=4096, typed=True)  # most questions cost what others did
def _payment(number: Any, *amounts: Any) -> Payment:
    return Payment(_whole(number), tuple(map(codec.read_amount, amounts)))


def _write_charge(record: Charged) -> dict[str, Any]:
    return {
        "account": record.account,
        "digest": record.digest,
        "event": record.event_data,
        "key": record.key,
        "shared": record.shared,
        "paid": [_write_payment(record.by_dataset), _write_payment(record.by_account)],
        "versions": dict(record.versions),
        "text": record.text,
        # a text within the text: reading a ledger costs the less, the fewer numbers there are to spell
        **({} if record.facts_text is None else {"facts": record.facts_text}),
        **({} if record.blocks is None else {"blocks": _write_blocks(record.blocks)}),
    }


def _write_blocks(touched: Touched) -> list[Any]:
    return [touched.table, touched.division, touched.members, touched.reach, [list(pair) for pair in touched.ranges]]


def _read_blocks(data: Any) -> Touched:
    table, division, members, reach, ranges = data
    pairs = tuple((_whole(start), _whole(end)) for start, end in ranges)
    return Touched(text(table), text(division), text(members), _whole(reach), pairs)  # type: ignore[arg-type]


def _read_charge(data: Any) -> Charged:
    dataset, account = data["paid"]
    versions = tuple(sorted(data["versions"].items()))
    for _, label in versions:
        text(label)
    return Charged(
        text(data["account"]),
        text(data["digest"]),
        data["event"],
        maybe_text(data["key"]),
        _maybe_whole(data["shared"]),
        _read_payment(dataset),
        _read_payment(account),
        versions,
        text(data["text"]),
        text(data["facts"]) if "facts" in data else None,
        _read_blocks(data["blocks"]) if "blocks" in data else None,
    )


def _write_answer(record: Answered) -> dict[str, Any]:
    return {
        "account": record.account,
        "digest": record.digest,
        "charge": record.charge,
        "released": record.released_data,
    }


def _read_answer(data: Any) -> Answered:
    return Answered(text(data["account"]), text(data["digest"]), _whole(data["charge"]), data["released"])


def _write_step(record: Stepped) -> dict[str, Any]:
    fields = dict(vars(record))
    return {"released": fields.pop("released_data"), **fields}


def _read_step(data: Any) -> Stepped:
    numbers = _whole(data["charge"]), _whole(data["step"])
    about, released, last = maybe_text(data["about"]), data["released"], data["last"]
    if type(last) is not bool:
        raise TypeError
    words = text(data["account"]), text(data["phase"]), text(data["state"])
    return Stepped(words[0], numbers[0], words[1], numbers[1], words[2], about, released, last)


def _read_act(data: Any) -> Acted:
    actor, role, act = (text(data[name]) for name in ("actor", "role", "act"))
    return Acted(actor, role, act, maybe_text(data["account"]), text(data["note"]))


def _write_promise(record: PromiseOpened) -> dict[str, Any]:
    promise = {"epsilon": codec.write_rational(record.promise.epsilon), "window": record.promise.window}
    return {"account": record.account, "digest": record.digest, "promise": promise, "facts": record.facts_text}


def _read_promise(data: Any) -> PromiseOpened:
    given = data["promise"]
    if given.keys() != {"epsilon", "window"}:
        raise ValueError
    promise = WEvent(epsilon=codec.read_rational(given["epsilon"]), window=given["window"])
    facts = text(data["facts"])
    if not isinstance(json.loads(facts), dict):
        raise TypeError
    return PromiseOpened(text(data["account"]), text(data["digest"]), promise, facts)


_KINDS: dict[type, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any], Record]]] = {
    **RULES,
    Charged: ("charge", _write_charge, _read_charge),
    Answered: ("answer", _write_answer, _read_answer),
    Failed: (
        "failure",
        lambda record: {"account": record.account, "charge": record.charge},
        lambda data: Failed(text(data["account"]), _whole(data["charge"])),
    ),
    Cleared: (
        "clear",
        lambda record: {"account": record.account, "reason": record.reason},
        lambda data: Cleared(text(data["account"]), text(data["reason"])),
    ),
    Frozen: (
        "freeze",
        lambda record: {"account": record.account, "reason": record.reason},
        lambda data: Frozen(text(data["account"]), text(data["reason"])),
    ),
    Acted: ("act", lambda record: dict(vars(record)), _read_act),
    Stepped: ("step", _write_step, _read_step),
    PromiseOpened: ("promise", _write_promise, _read_promise),
}
_READERS = {kind: read for kind, _, read in _KINDS.values()}


_ALL = {"v", "kind", "number", "time"}
_CHARGE = _ALL | {"account", "digest", "event", "key", "shared", "paid", "versions", "text"}
_FIELDS = {
    (FORMAT, "open"): _ALL | {"ledger", "cap", "per_query", "expires"},
    (FORMAT, "account"): _ALL | {"account", "cap", "expires"},
    (FORMAT, "top-up"): _ALL | {"account", "cap", "reason"},
    (FORMAT, "limit"): _ALL | {"per_query", "reason"},
    (FORMAT, "expiry"): _ALL | {"account", "expires", "reason"},
    (FORMAT, "charge"): _CHARGE,
    (WITH_FACTS, "charge"): _CHARGE | {"facts"},
    (WITH_BLOCKS, "charge"): _CHARGE | {"facts", "blocks"},
    (FORMAT, "answer"): _ALL | {"account", "digest", "charge", "released"},
    (FORMAT, "failure"): _ALL | {"account", "charge"},
    (FORMAT, "clear"): _ALL | {"account", "reason"},
    (WITH_ACTS, "freeze"): _ALL | {"account", "reason"},
    (WITH_ACTS, "act"): _ALL | {"actor", "role", "act", "account", "note"},
    (FORMAT, "promise"): _ALL | {"account", "digest", "promise", "facts"},
    (FORMAT, "step"): _ALL | {"account", "charge", "phase", "step", "state", "about", "released", "last"},
}
"""Which fields an entry of each version and kind has: these, and no others."""


def kind_of(record: Record) -> str:
    """Return the word by which an entry of this kind goes."""
    return _KINDS[type(record)][0]
