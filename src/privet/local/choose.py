"""Chooses the oracle with the least variance that fits a number of bytes, and explains the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privet.core.errors import BadParameter, RequestError
from privet.core.given import instance, listed, set_fields
from privet.core.numbers import Number, whole
from privet.display import Figures, draw_columns, draw_text, shown_amount, written

from .frequency_oracle import FrequencyOracle
from .hadamard import HadamardResponse
from .hashing import BinaryHashing, OptimizedHashing
from .projective import ProjectiveResponse
from .response import KaryResponse
from .subset import SubsetSelection
from .unary import OptimizedUnary, SymmetricUnary

ORACLES: tuple[type[FrequencyOracle], ...] = (
    KaryResponse,
    SubsetSelection,
    OptimizedHashing,
    ProjectiveResponse,
    OptimizedUnary,
    SymmetricUnary,
    HadamardResponse,
    BinaryHashing,
)
"""Every oracle of frequencies, those with shorter reports first."""

_CLOSE = 1.001


@dataclass(frozen=True, repr=False)
class ChosenOracle:
    """An oracle that was chosen, beside the others.

    Example:
        >>> local.best(1024, epsilon=1, n=1000, bytes=1).oracle
        OptimizedHashing(1,024 values, epsilon=1, 1 byte)
    """

    oracle: FrequencyOracle
    candidates: tuple[FrequencyOracle, ...]
    n: int
    bytes: int | None

    def __post_init__(self) -> None:
        instance(self.oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
        for candidate in listed(self.candidates, "candidates", "oracles of frequencies"):
            instance(candidate, FrequencyOracle, "candidates", "oracles of frequencies")
        set_fields(self, candidates=tuple(self.candidates))
        whole(self.n, "n", least=1)
        if self.bytes is not None:
            whole(self.bytes, "bytes", least=1)

    @property
    def why(self) -> str:
        """The reason in one sentence."""
        error = self.oracle.variance(0, self.n) ** 0.5
        limit = "" if self.bytes is None else f" of reports of at most {_counted(self.bytes)}"
        return (
            f"{type(self.oracle).__name__}: the least error{limit}, +-{shown_amount(error)} (one standard deviation) "
            f"for a rare value among {self.n:,} people, in {_counted(self.oracle.width)} a report."
        )

    def __repr__(self) -> str:
        rows = sorted(self.candidates, key=lambda oracle: oracle.variance(0, self.n))
        columns = [
            Figures(
                "standard error of a rare value", tuple(f"{row.variance(0, self.n) ** 0.5:.3g}" for row in rows), True
            ),
            Figures("bytes", tuple(f"{row.width:,}" for row in rows), True),
        ]

        def draw(console: Any) -> None:
            names = Figures("oracle", tuple(type(row).__name__ for row in rows), right=False)
            draw_columns(console, [names], [[column] for column in columns], rows=len(rows))
            draw_text(console, self.why)

        return written(draw)


def best(
    domain: int | Sequence[Any], *, epsilon: Number, n: int, bytes: int | None = None, survey: str = ""
) -> ChosenOracle:
    """Return the oracle with the least variance for a rare value, among those whose reports are short enough.

    Oracles within 0.1% of the least variance count as equal, and the shortest report wins.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        n: the number of people expected.
        bytes: the most bytes of a report, without its identifier.
        survey: a name; reports to a survey of another name are not accepted.

    Raises:
        RequestError: if no report is short enough.

    Example:
        >>> local.best(4, epsilon=1, n=1000).oracle
        KaryResponse(4 values, epsilon=1, 1 byte)
    """
    people = whole(n, "n", least=1)
    most = None if bytes is None else whole(bytes, "bytes", least=1)
    oracles: list[FrequencyOracle] = []
    for kind in ORACLES:
        try:
            oracles.append(kind(domain, epsilon=epsilon, survey=survey))
        except BadParameter:
            if kind is KaryResponse:  # which takes every domain and epsilon that there are
                raise
    fitting = [oracle for oracle in oracles if most is None or oracle.width <= most]
    if not fitting:
        raise RequestError(f"no report fits {most} bytes; the shortest takes {min(oracle.width for oracle in oracles)}")
    least = min(oracle.variance(0, people) for oracle in fitting)
    close = [oracle for oracle in fitting if oracle.variance(0, people) <= least * _CLOSE]
    return ChosenOracle(min(close, key=lambda oracle: oracle.width), tuple(oracles), people, most)


def _counted(width: int) -> str:
    return "1 byte" if width == 1 else f"{width:,} bytes"
