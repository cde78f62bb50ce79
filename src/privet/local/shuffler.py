"""A shuffler between people and a server: it removes repeats, strips what distinguishes senders, permutes, forwards.

It is trusted not to link reports to senders and to forward only batches that are large enough; not with answers, as
each report alone protects its answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadParameter, ParseError
from privet.core.event import Event
from privet.core.given import instance, is_a, listed
from privet.core.numbers import whole

from .frequency_oracle import FrequencyOracle
from .reports import Reports, draw_ids, read_reports
from .server import ANOTHER, FORGED, NOT_WHOLE, REPEATED, Wire

_WIRE = (Reports, bytes, str)


class Shuffler:
    """Collects reports until there are enough, and forwards them in a random order without what distinguishes senders.

    Times, addresses and the order of arrival are never taken; all reports of an oracle have one length. Identifiers are
    used to remove repeats, across all batches, and replaced by new ones; only the reports of hashing oracles keep
    theirs, which name a public function and were drawn at random.

    Args:
        oracle: the question's oracle.
        minimum: the least number of different reports that are forwarded together: a public number. Fewer wait.

    Example:
        >>> survey = local.KaryResponse(2, epsilon=1)
        >>> shuffler = local.Shuffler(survey, minimum=100)
        >>> shuffler.add(survey.client.reports([0] * 60)), shuffler.forward()
        (60, None)
        >>> shuffler.add(survey.client.reports([1] * 60)), len(shuffler.forward())
        (60, 120)

    Guarantee: a batch is a uniformly random order of at least `minimum` different reports, so that what it costs is
    `event(...)` of its size without those who may be forged. Batches that hold reports of the same people compose.
    """

    def __init__(self, oracle: FrequencyOracle, *, minimum: int) -> None:
        self.oracle: FrequencyOracle = instance(oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
        self.minimum = whole(minimum, "minimum", least=2)
        self._waiting: list[Reports] = []
        self._seen: set[bytes] = set()
        self._rejected: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        """The number of reports that wait for enough others."""
        return sum(len(batch) for batch in self._waiting)

    @property
    def rejected(self) -> dict[str, int]:
        """How many reports were rejected, by reason; bytes that cannot be read count as one."""
        return dict(self._rejected)

    def add(self, reports: Wire | Iterable[Wire]) -> int:
        """Take reports, bytes or JSON of reports, or an iterable of these; return how many were taken.

        Repeated reports, those of another survey and bytes that no client sends are rejected and counted.
        """
        allowed = "reports, bytes or JSON of reports, or a list of these"
        if is_a(reports, _WIRE):
            return self._add(cast(Wire, reports))
        taken = 0
        for wire in listed(reports, "reports", allowed):
            if not is_a(wire, _WIRE):
                raise BadParameter("reports", wire, allowed)
            taken += self._add(wire)
        return taken

    def forward(self) -> Reports | None:
        """Return all waiting reports in a random order, or None while there are fewer than the minimum."""
        if self.waiting < self.minimum:
            return None
        ids = np.concatenate([batch.ids for batch in self._waiting])
        data = np.concatenate([batch.data for batch in self._waiting])
        order = _permutation(len(data))
        kept = ids[order] if self.oracle.identified else draw_ids(len(data))
        self._waiting = []
        return Reports(self.oracle.digest, kept, data[order])

    def drop(self) -> int:
        """Forget the waiting reports, for good, and return how many they were."""
        dropped = self.waiting
        self._waiting = []
        return dropped

    def event(self, batch: int, *, missing: int = 0, suspected: int = 0) -> Event:
        """Return the event of one batch for each person in it.

        Args:
            batch: the number of people who were to report in it, or the number of its reports.
            missing: how many of these did not report.
            suspected: how many of these may be forged, or be further reports of the same person.

        Guarantee: counts only honest, present, different people.
        """
        size = whole(batch, "batch", least=self.minimum, most=10**9)
        absent, forged = whole(missing, "missing"), whole(suspected, "suspected")
        if absent + forged >= size:
            raise BadParameter("missing", missing, f"with suspected less than the {size:,} people of the batch")
        return self.oracle.shuffled(size - absent - forged)

    def _add(self, wire: Wire) -> int:
        if not isinstance(wire, Reports):
            try:
                wire = read_reports(wire)
            except ParseError:
                self._rejected[NOT_WHOLE] += 1
                return 0
        if wire.digest != self.oracle.digest or wire.data.shape[1] != self.oracle.width:
            self._rejected[ANOTHER if wire.digest != self.oracle.digest else NOT_WHOLE] += len(wire)
            return 0
        possible = self.oracle._allowed(wire.data, wire.ids)
        fresh = [place for place in np.flatnonzero(possible).tolist() if self._is_new(wire.ids[place].tobytes())]
        rejected = {FORGED: len(wire) - int(possible.sum()), REPEATED: int(possible.sum()) - len(fresh)}
        self._rejected.update({reason: count for reason, count in rejected.items() if count})
        if fresh:
            self._waiting.append(Reports(wire.digest, wire.ids[fresh], wire.data[fresh]))
        return len(fresh)

    def _is_new(self, id_: bytes) -> bool:
        new = id_ not in self._seen
        self._seen.add(id_)
        return new

    def __repr__(self) -> str:
        return f"Shuffler({self.waiting:,} reports waiting, minimum {self.minimum:,}, of {self.oracle!r})"


def _permutation(size: int) -> NDArray[np.intp]:
    """Return a uniformly random order: that of random keys, which are drawn again should two be equal."""
    while True:
        keys = draw_ids(size)
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        ordered = keys[order]
        if (ordered[1:] != ordered[:-1]).any(axis=1).all():
            return order
