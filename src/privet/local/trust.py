"""The guarantee in words for each model of trust, side by side: no one, a shuffler, or a curator is trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from privet.accounting import epsilon as epsilon_of
from privet.core.errors import BadParameter
from privet.core.given import instance, set_fields
from privet.core.numbers import Number, failure_probability, whole
from privet.display import Figures, draw_columns, draw_text, shown_amount, written

from .frequency_oracle import FrequencyOracle


@dataclass(frozen=True, repr=False)
class Trust:
    """The promise of one question to each person, by who is trusted.

    Args:
        oracle: the question's oracle.
        n: the number of people who were asked.
        delta: the probability with which the shuffled guarantee may be exceeded.
        missing: how many of them do not report.
        suspected: how many reports may be forged, or be further reports of the same person.

    Example:
        >>> trust = local.Trust(local.KaryResponse(2, epsilon=1), 100, delta=1e-6)
        >>> round(trust.shuffled_epsilon, 3), trust.words["local"][:18]
        (0.484, 'No one is trusted.')
    """

    oracle: FrequencyOracle
    n: int
    delta: Number
    missing: int = 0
    suspected: int = 0

    def __post_init__(self) -> None:
        instance(self.oracle, FrequencyOracle, "oracle", "an oracle of frequencies")
        whole(self.n, "n", least=1, most=10**9)
        set_fields(self, delta=failure_probability(self.delta))
        if whole(self.missing, "missing") + whole(self.suspected, "suspected") >= self.n:
            raise BadParameter("missing", self.missing, f"with suspected less than the {self.n:,} people asked")

    @property
    def honest(self) -> int:
        """The number of people who hide each other."""
        return self.n - self.missing - self.suspected

    @property
    def present(self) -> int:
        """The number of reports."""
        return self.n - self.missing

    @cached_property
    def shuffled_epsilon(self) -> float:
        """The privacy loss where only the multiset of reports is public."""
        return epsilon_of(self.oracle.shuffled(self.honest), failure_probability(self.delta))

    @property
    def words(self) -> dict[str, str]:
        """The promise to each person for the local, the shuffled and the central model."""
        own = f"{self.oracle.epsilon:.3g}"
        return {
            "local": (
                "No one is trusted. An observer of a report learns little: its odds differ by "
                f"e^{own} at most between any two answers."
            ),
            "shuffled": (
                "The shuffler is trusted not to link reports to people. An observer of the shuffled reports of "
                f"{self.honest:,} honest people has epsilon {self.shuffled_epsilon:.3g} but for a chance of "
                f"{float(failure_probability(self.delta)):g}; if it links them after all, epsilon {own} is left."
            ),
            "central": (
                "A curator is trusted with the answers themselves. An observer of released shares has epsilon "
                f"{own}; if the curator leaks or is robbed, nothing is left."
            ),
        }

    @property
    def standard_errors(self) -> dict[str, float]:
        """The standard error of the share of a rare value: of the oracle, and of counts with noise by a curator."""
        reported = self.oracle.variance(0, self.present) ** 0.5
        decay = math.exp(-self.oracle.epsilon / 2)  # one answer changes two counts by one
        return {
            "local": reported,
            "shuffled": reported,
            "central": math.sqrt(2 * decay) / (1 - decay) / self.present,
        }

    def __repr__(self) -> str:
        names = ("local", "shuffled", "central")
        losses = (self.oracle.epsilon, self.shuffled_epsilon, self.oracle.epsilon)
        columns = [
            Figures("epsilon", tuple(f"{loss:.3g}" for loss in losses), True),
            Figures("standard error", tuple(shown_amount(self.standard_errors[name]) for name in names), True),
        ]

        def draw(console: Any) -> None:
            draw_columns(console, [Figures("trust", names, right=False)], [[col] for col in columns], rows=len(names))
            for name in names:
                draw_text(console, f"{name}: {self.words[name]}")

        return written(draw)
