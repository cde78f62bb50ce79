"""Randomised reports on their way from clients to a server, as bytes and as JSON.

A report contains the digest of its survey, a random identifier by which a server rejects repeats, and the randomised
content. Nothing here depends on the answer but that content, whose odds are the oracle's.

Bytes: "PVL", the version, the digest (8 bytes), the number of reports and the bytes of each content (4 bytes each,
big-endian), then all identifiers (16 bytes each), then all contents.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, ParseError, raise_alone

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def width_below(bound: int) -> int:
    """Return how many bytes are enough for every number below a bound."""
    return max(1, -(-(bound - 1).bit_length() // 8))


def to_bytes(numbers: Integers, width: int) -> Bytes:
    """Return the last `width` bytes of each number, the highest first."""
    return numbers.astype(">i8").view(np.uint8).reshape(len(numbers), 8)[:, 8 - width :].copy()


def from_bytes(data: Bytes) -> Integers:
    """Return the numbers of rows of at most seven bytes, the highest first."""
    full = np.zeros((len(data), 8), dtype=np.uint8)
    full[:, 8 - data.shape[1] :] = data
    return full.view(">i8").reshape(len(data)).astype(np.int64)


def add_counts(tally: Integers, numbers: Integers) -> None:
    """Add to a tally how often each number comes."""
    flat = tally.reshape(-1)
    if 8 * len(numbers) < len(flat):
        np.add.at(flat, numbers, 1)
    else:
        flat += np.bincount(numbers, minlength=len(flat))


Words = NDArray[np.uint64]

MAGIC = b"PVL"
VERSION = 1
_HEAD = struct.Struct(">3sB8sII")
_ID = 16


@dataclass(frozen=True, eq=False)
class Reports:
    """One or more reports of one survey: `digest` names the survey, `ids` and `data` have a row for each report.

    Example:
        >>> reports = local.KaryResponse(2, epsilon=1).client.reports([0, 1, 1])
        >>> local.read_reports(reports.to_json()) == reports
        True
    """

    digest: bytes
    ids: Words
    data: Bytes

    def __post_init__(self) -> None:
        if type(self.digest) is not bytes or len(self.digest) != 8:
            raise BadParameter("digest", self.digest, "the eight bytes that name a survey")
        for name, dtype in (("ids", np.uint64), ("data", np.uint8)):
            held = getattr(self, name)
            if type(held) is not np.ndarray or held.dtype != dtype or held.ndim != 2:
                raise BadParameter(name, held, f"an array of {np.dtype(dtype)} with a row for each report")
        if self.ids.shape != (len(self.data), 2):
            raise BadParameter("ids", self.ids, "two words for each report")
        self.ids.setflags(write=False)
        self.data.setflags(write=False)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, place: int | slice) -> Reports:
        if type(place) is slice:
            rows = place
        elif type(place) is int and -len(self) <= place < len(self):
            rows = slice(place, place + 1 or None)
        elif type(place) is int:
            raise IndexError(place)  # which ends a loop over reports
        else:
            raise BadParameter("place", place, "the number of a report, or a slice of numbers")
        return Reports(self.digest, self.ids[rows], self.data[rows])

    def __iter__(self) -> Iterator[Reports]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reports) and other.to_bytes() == self.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def __repr__(self) -> str:
        return f"Reports({len(self):,} of {self.data.shape[1]} bytes, survey {self.digest.hex()})"

    def to_bytes(self) -> bytes:
        """Return these reports as bytes, which `read_reports` reads."""
        head = _HEAD.pack(MAGIC, VERSION, self.digest, len(self), self.data.shape[1])
        return head + self.ids.astype(">u8").tobytes() + self.data.tobytes()

    def to_json(self) -> str:
        """Return these reports as JSON, which `read_reports` reads."""
        pairs = zip(self.ids.astype(">u8").view(np.uint8).reshape(len(self), _ID), self.data, strict=True)
        listed = [[id_.tobytes().hex(), base64.b64encode(row.tobytes()).decode()] for id_, row in pairs]
        return json.dumps({"privet_local": VERSION, "survey": self.digest.hex(), "reports": listed})


def read_reports(wire: bytes | str) -> Reports:
    """Return the reports of bytes or JSON.

    Args:
        wire: the result of `to_bytes` or `to_json`.

    Raises:
        ParseError: if they are not reports of this version, or not whole.

    Example:
        >>> reports = local.KaryResponse(2, epsilon=1).client.reports([0, 1, 1])
        >>> len(local.read_reports(reports.to_bytes()))
        3
    """
    if type(wire) not in (str, bytes):
        raise BadParameter("wire", wire, "the bytes or the JSON of reports")
    try:
        return _from_json(wire) if isinstance(wire, str) else _from_bytes(wire)
    except (ValueError, KeyError, TypeError, struct.error, binascii.Error, RecursionError):
        raise_alone(ParseError(f"these are not whole reports of version {VERSION}"))


def draw_ids(count: int) -> Words:
    """Return random identifiers, independent of everything."""
    return noise.uniform_below(2**62, (count, 2)).astype(np.uint64)


def _from_bytes(wire: bytes) -> Reports:
    magic, version, digest, count, width = _HEAD.unpack_from(wire)
    if (magic, version) != (MAGIC, VERSION) or len(wire) != _HEAD.size + count * (_ID + width):
        raise ValueError
    ids = np.frombuffer(wire, ">u8", count * 2, _HEAD.size).astype(np.uint64).reshape(count, 2)
    data = np.frombuffer(wire, np.uint8, count * width, _HEAD.size + count * _ID).reshape(count, width)
    return Reports(digest, ids, data)


def _from_json(wire: str) -> Reports:
    data = json.loads(wire)
    digest = bytes.fromhex(data["survey"])
    if data["privet_local"] != VERSION or len(digest) != 8:
        raise ValueError
    ids = [bytes.fromhex(id_) for id_, _ in data["reports"]]
    rows = [base64.b64decode(row, validate=True) for _, row in data["reports"]]
    width = len(rows[0]) if rows else 0
    if any(len(id_) != _ID for id_ in ids) or any(len(row) != width for row in rows):
        raise ValueError
    read = np.frombuffer(b"".join(ids), ">u8").astype(np.uint64).reshape(len(rows), 2)
    return Reports(digest, read, np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), width))
