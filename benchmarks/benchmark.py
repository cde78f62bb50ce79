"""What a benchmark is: cases, the systems that run each, and the ratios to reach. Holds no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One piece of work, the same for every system that runs it.

    `units` maps each system to how many units of work it does; the rate is units per second. Where the cost of a
    unit does not depend on how many there are, a slow system may do fewer. `count` is the parameter that takes them.
    """

    title: str
    task: str
    units: Mapping[str, int]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters of one system alone, such as a peer's own tuning."""
    count: str | None = None
    targets: Mapping[str, float] = field(default_factory=dict)
    """The least ratio of Privet's rate to a peer's that is hoped for."""
    limit: float | None = None
    """The most seconds that Privet may take, where that is the aim."""
    figures: tuple[str, ...] = ()
    """What is shown beside the time and counts with it, less being better: no ratio is reached with a worse figure."""
    most: Mapping[str, float] = field(default_factory=dict)
    """The most that a figure may be, as a multiple of each peer's."""
    ceilings: Mapping[str, float] = field(default_factory=dict)
    """The most that a figure of Privet's may be by itself."""
    same_draws: bool = False
    """Whether all systems draw from (nearly) one distribution, so that their mean sizes must agree."""


@dataclass(frozen=True)
class Benchmark:
    """A file in `cases/` holds one, named `BENCHMARK`."""

    name: str
    title: str
    unit: str
    """What the rate counts; `"seconds"` shows the time itself, and in brackets the processor's."""
    cases: tuple[Case, ...]
    picture: str = ""
    """What figures are, where a picture is made of them."""
    by_hand: bool = False
    """Whether it takes so much time or disk that it is run only where it is named."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Return every system that some case needs, in order of first mention."""
        return tuple(dict.fromkeys(system for case in self.cases for system in case.units))
