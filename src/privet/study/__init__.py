"""Studies of private tables: hypotheses as values that a session tests, charged like any question.

    session.test("visits", privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5}), epsilon=1)

A hypothesis knows which question it needs and how to conclude from the answer. To add one, write a frozen value that
is a `Hypothesis`, and add it here.
"""

from .counted_tables import EqualProportions, GoodnessOfFit, Independence, SameRanks
from .hypothesis import Family, Hypothesis
from .means import MeansTest, MeanTest, PairedTest
from .proportions import Proportion, TwoProportions

__all__ = [
    "EqualProportions",
    "Family",
    "GoodnessOfFit",
    "Hypothesis",
    "Independence",
    "MeanTest",
    "MeansTest",
    "PairedTest",
    "Proportion",
    "SameRanks",
    "TwoProportions",
]
