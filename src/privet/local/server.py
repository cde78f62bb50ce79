"""The side that is not trusted: takes reports in any order, rejects invalid ones, counts, estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, cast

import numpy as np

from privet.core.errors import BadParameter, ParseError, RequestError
from privet.core.given import instance, is_a, listed
from privet.core.numbers import Number

from .randomizer import Integers, Randomizer
from .reports import Reports, read_reports

Wire = Reports | bytes | str

_WIRE = (Reports, bytes, str)
NOT_WHOLE, ANOTHER, FORGED, REPEATED = "not whole", "another survey", "impossible content", "repeated"


class Server:
    """Collects reports of one oracle and estimates from them; it keeps counts and identifiers, no reports.

    Example:
        >>> survey = local.KaryResponse(["no", "yes"], epsilon=1)
        >>> server = survey.server()
        >>> server.add(survey.client.reports(["yes", "no", "no"]))
        3
    """

    def __init__(self, oracle: Randomizer) -> None:
        self.oracle: Randomizer = instance(oracle, Randomizer, "oracle", "an oracle")
        self._tally: Integers = np.zeros(oracle._tally_shape, dtype=np.int64)
        self._seen: set[bytes] = set()
        self._rejected: Counter[str] = Counter()

    @property
    def n(self) -> int:
        """The number of reports that were accepted."""
        return len(self._seen)

    @property
    def rejected(self) -> dict[str, int]:
        """How many reports were rejected, by reason; bytes that cannot be read count as one."""
        return dict(self._rejected)

    def add(self, reports: Wire | Iterable[Wire]) -> int:
        """Take reports, bytes or JSON of reports, or an iterable of these; return how many were accepted.

        Reports of another survey, version, domain or epsilon, impossible ones, repeated ones and bytes that are no
        reports are rejected and counted in `rejected`; they change no estimate. Forged reports with fresh identifiers
        cannot be recognised: see `robustness` of the oracle.
        """
        allowed = "reports, bytes or JSON of reports, or a list of these"
        if is_a(reports, _WIRE):
            return self._add(cast(Wire, reports))
        accepted = 0
        for wire in listed(reports, "reports", allowed):
            if not is_a(wire, _WIRE):
                raise BadParameter("reports", wire, allowed)
            accepted += self._add(wire)
        return accepted

    def merge(self, other: Server) -> None:
        """Take all that another server of the same oracle has counted.

        Raises:
            RequestError: if the other is of another survey, or both have counted the same report.
        """
        if not is_a(other, Server) or other.oracle != self.oracle:
            raise BadParameter("other", other, "a server of the same oracle and survey")
        common = len(self._seen & other._seen)
        if common:
            raise RequestError(
                f"both servers have counted {common:,} of the same reports; send each report to one server, or add all "
                "reports to one"
            )
        self._tally += other._tally
        self._seen |= other._seen
        self._rejected.update(other._rejected)

    def estimate(
        self,
        confidence: Number = 0.95,
        *,
        covers: Literal["reports", "population"] = "reports",
        of: Sequence[str] | None = None,
    ) -> Any:
        """Return the oracle's estimates, with an interval for each number: `Frequencies`, a `Mean` and so on.

        Args:
            confidence: the confidence level of each interval.
            covers: `reports` for the truth among those who reported; `population` for that among people of whom they
                are a random sample.
            of: the strings whose frequencies are wanted; only for a `CountMeanSketch`, which needs them.

        Raises:
            RequestError: if there are no reports yet.
        """
        if not self.n:
            raise RequestError("no report was accepted yet, so nothing can be estimated")
        if of is not None:
            return self.oracle._estimate_of(of, self._tally, self.n, confidence, covers, self.rejected)
        return self.oracle._estimate(self._tally, self.n, confidence, covers, self.rejected)

    def _add(self, wire: Wire) -> int:
        if not isinstance(wire, Reports):
            try:
                wire = read_reports(wire)
            except ParseError:
                return self._reject(NOT_WHOLE, 1)
        if wire.digest != self.oracle.digest:
            return self._reject(ANOTHER, len(wire))
        if wire.data.shape[1] != self.oracle.width:
            return self._reject(NOT_WHOLE, len(wire))
        possible = self.oracle._allowed(wire.data, wire.ids)
        self._reject(FORGED, len(wire) - int(possible.sum()))
        fresh = self._fresh(wire, possible)
        self._reject(REPEATED, int(possible.sum()) - len(fresh))
        if len(fresh):
            whole = len(fresh) == len(wire)
            data, ids = (wire.data, wire.ids) if whole else (wire.data[fresh], wire.ids[fresh])
            self.oracle._count_into(self._tally, data, ids)
        return len(fresh)

    def _fresh(self, wire: Reports, possible: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Integers:
        """Return the places of possible reports that were not counted before, and remember their identifiers."""
        places = np.flatnonzero(possible)
        ids: list[bytes] = np.ascontiguousarray(wire.ids[places]).view("V16").reshape(-1).tolist()
        new = set(ids)
        if len(new) == len(ids) and self._seen.isdisjoint(new):  # as nearly always: no need to look at each
            self._seen = self._seen | new if self._seen else new
            return places
        fresh: list[int] = []
        for place, id_ in zip(places.tolist(), ids, strict=True):
            if id_ not in self._seen:
                self._seen.add(id_)
                fresh.append(place)
        return np.array(fresh, dtype=np.int64)

    def _reject(self, reason: str, count: int) -> int:
        if count:
            self._rejected[reason] += count
        return 0

    def __repr__(self) -> str:
        refused = f", {sum(self._rejected.values()):,} rejected" if self._rejected else ""
        return f"Server({self.n:,} reports{refused}, of {self.oracle!r})"
