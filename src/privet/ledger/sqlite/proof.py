"""What this process has proven of a ledger: its balance and the hash of every entry, read from the first one on.

A file can be forged in part: a balance in the cache, an entry with a hash that follows from the one before. A caller
who kept a head can know better, and this is how: nothing that the file says is believed unless it is in the chain
that was followed here from the first entry.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass

from privet.ledger.chain import Head
from privet.ledger.state import State

from .pages import head_at, verify_pages
from .place import Identity

_MOST = 8
"""For how many files what was proven is remembered."""

_LOCK = threading.Lock()
_PROVEN: dict[Identity, Proof] = {}


@dataclass(frozen=True)
class Proof:
    """A balance, and the hashes of all entries up to it, one after the other."""

    state: State
    hashes: bytes

    def holds(self, head: Head) -> bool:
        """Return whether an entry is in the chain that was followed."""
        return self.hashes[32 * (head.number - 1) : 32 * head.number] == head.hash


def prove(connection: sqlite3.Connection, file: Identity) -> Proof:
    """Return what a file is proven to hold, replayed from its first entry unless this process has done so before.

    Guarantee: each of its entries is in one chain from the first to the last, all of them obey the rules, and each
    charge took no less than its event costs, as `verify` finds; entries that came after the first replay in this
    process are followed in the chain and obey the rules.
    """
    with _LOCK:
        known = _PROVEN.get(file)
    last = None if known is None else known.state.head
    if known is not None and last is not None and head_at(connection, last.number) == last:
        return known
    hashes = bytearray()
    return Proof(verify_pages(connection, hashes, cache=False), bytes(hashes))


def remember(file: Identity, proof: Proof) -> None:
    """Keep what was proven of a file for the next time that this process opens it."""
    with _LOCK:
        _PROVEN.pop(file, None)
        _PROVEN[file] = proof
        while len(_PROVEN) > _MOST:
            del _PROVEN[next(iter(_PROVEN))]
