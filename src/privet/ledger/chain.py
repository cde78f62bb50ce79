"""The hash chain: each entry's hash covers its bytes and the hash before it, so no entry can change by itself.

It shows that a record is the one that was written, to whoever knows its head. It keeps no secret and hides nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from privet.core.errors import BadParameter, LedgerError

GENESIS = bytes(32)
"""What the first entry has in place of a hash before it."""

_DOMAIN = b"privet ledger 1\n"
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


@dataclass(frozen=True)
class Head:
    """The last entry of a chain: its number and its hash. Kept elsewhere, it shows that a file was put back."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


START = Head(0, GENESIS)


def read_head(text: object) -> Head:
    """Return the head that a text names, such as the one that `str` makes of it."""
    found = _HEAD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadParameter("head", text, "a ledger's head: the number of an entry, a colon, and its hash")
    return Head(int(found[1]), bytes.fromhex(found[2]))


def canonical(data: Any) -> str:
    """Return the one text that stands for plain data, in ASCII."""
    return _ENCODER.encode(data)


def link(previous: bytes, body: str) -> bytes:
    """Return the hash of an entry, given the hash of the entry before it."""
    return hashlib.sha256(_DOMAIN + previous + body.encode("ascii")).digest()


def follow(head: Head, number: object, body: object, digest: object) -> Head:
    """Return the head after one more entry, or raise `LedgerError` if the entry does not follow."""
    if number != head.number + 1 or not isinstance(body, str) or not body.isascii() or link(head.hash, body) != digest:
        raise broken(head.number + 1)
    return Head(head.number + 1, digest)


def broken(number: int) -> LedgerError:
    """Return the error for an entry that is not the one that was written in its place."""
    return LedgerError(
        f"the ledger's chain breaks at entry {number}: the file was damaged or changed; "
        "put back a copy whose head you know"
    )
