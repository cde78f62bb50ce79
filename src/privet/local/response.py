"""k-ary randomized response: the answer itself with some probability, otherwise any other value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter
from privet.core.given import plain_text, set_fields
from privet.core.numbers import Number, exp_down, open_probability

from .frequency_oracle import Bytes, FrequencyOracle, Integers, Row, Words, read_labels
from .randomizer import LARGEST_EPSILON
from .reports import add_counts, from_bytes, to_bytes, width_below


@dataclass(frozen=True, repr=False, eq=False, init=False)
class KaryResponse(FrequencyOracle):
    """Report the answer with probability p, and each other value with the same smaller probability.

    With two values this is Warner's randomized response. Best where the domain has fewer than about 3 e^epsilon + 2
    values.

    Args:
        domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
        epsilon: the privacy loss of one report.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> survey = local.KaryResponse(["no", "yes"], epsilon=1)
        >>> round(survey.epsilon, 6)
        1.0

    Guarantee: epsilon-DP for each person by themselves: two answers give a report with probabilities p and q, p / q at
    most e^epsilon, as p is rounded down.
    Cites: [War65], [KBR16, k-ary response].
    """

    kind: ClassVar[str] = "k-ary response"

    def __init__(self, domain: int | Sequence[Any], *, epsilon: Number, survey: str = "") -> None:
        super().__init__(domain, epsilon=epsilon, survey=survey)

    @classmethod
    def two_coins(cls, domain: Sequence[Any] = ("no", "yes"), *, truth: Number = 0.5, survey: str = "") -> KaryResponse:
        """Return the survey with two coins: on heads of the first answer truly, else report the second.

        Args:
            domain: the two answers.
            truth: the first coin's probability of heads; the second is fair.
            survey: a name; reports to a survey of another name are not accepted.

        Example:
            >>> local.KaryResponse.two_coins().p
            Fraction(3, 4)
        """
        chance, labels = open_probability(truth, "truth"), read_labels(domain)
        if len(labels) != 2:
            raise BadParameter("domain", domain, "two answers: two coins choose between no more")
        made = object.__new__(cls)
        set_fields(made, labels=labels, growth=(1 + chance) / (1 - chance), survey=plain_text(survey, "survey"))
        return made

    @classmethod
    def with_truth(cls, domain: int | Sequence[Any], truth: Number, *, survey: str = "") -> KaryResponse:
        """Return the survey that reports the answer itself with this probability: generalised randomized response.

        Args:
            domain: a number k (the answers are 0 to k - 1), or a list of labels, texts or integers.
            truth: the probability of reporting the answer, above 1 / k; epsilon is ln(truth (k - 1) / (1 - truth)).
            survey: a name; reports to a survey of another name are not accepted.

        Example:
            >>> round(local.KaryResponse.with_truth(["cafe", "park", "home"], 0.5).epsilon, 4)
            0.6931
        """
        chance, labels = open_probability(truth, "truth"), read_labels(domain)
        if chance * len(labels) <= 1:
            raise BadParameter("truth", truth, f"above 1 / {len(labels):,}, else other answers are as likely")
        growth = chance * (len(labels) - 1) / (1 - chance)
        if growth > exp_down(LARGEST_EPSILON):
            raise BadParameter("truth", truth, f"smaller: epsilon is {LARGEST_EPSILON} at most")
        made = object.__new__(cls)
        set_fields(made, labels=labels, growth=growth, survey=plain_text(survey, "survey"))
        return made

    @property
    def p(self) -> Fraction:
        return self.growth / (self.growth + self.values - 1)

    @property
    def q(self) -> Fraction:
        return 1 / (self.growth + self.values - 1)

    @property
    def both(self) -> Fraction:
        return Fraction(0)

    @property
    def width(self) -> int:
        return width_below(self.values)

    def _randomise(self, answers: Integers, ids: Words) -> Bytes:
        size = len(answers)
        other = noise.uniform_below(self.values - 1, size)
        lies = other + (other >= answers)
        return to_bytes(np.where(noise.bernoulli(self.p, size), answers, lies), self.width)

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        return from_bytes(data) < self.values

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (self.values,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        add_counts(tally, from_bytes(data))

    def _supports(self, tally: Integers) -> Integers:
        return tally

    @property
    def _outcome_count(self) -> int:
        return self.values

    def _outcomes(self, answer: int) -> Row:
        return tuple(self.p if value == answer else self.q for value in range(self.values))
