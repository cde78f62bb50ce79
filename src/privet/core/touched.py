"""Which blocks of a table a question reads: what a charge counts against."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from .errors import BadParameter
from .given import check_fields

Members = Literal["rows", "people", "windows"]
"""What lies in a block: rows, whole people, or the rows of people within a window of time."""

MOST_BLOCKS = 10**6


@dataclass(frozen=True)
class Touched:
    """Some blocks of one division of a table: ranges of their numbers, each from its first to before its end.

    `division` stands for the table's division into blocks, so that two divisions of one table are told apart. `reach`
    is how many of its blocks one unit can be in between neighbours: 1 where a row comes or goes, 2 where one moves. Of
    windows it is the number of windows, each of which lies in two adjacent blocks.
    """

    table: str
    division: str
    members: Members
    reach: int
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if self.members not in get_args(Members):
            raise BadParameter("members", self.members, "rows, people or windows")
        if not 1 <= self.reach <= MOST_BLOCKS:
            raise BadParameter("reach", self.reach, "at least 1")
        ends = [end for pair in self.ranges for end in pair]
        rising = all(one < other for one, other in pairwise(ends))
        if not ends or ends[0] < 0 or ends[-1] > MOST_BLOCKS or not rising:
            raise BadParameter("ranges", self.ranges, "ranges of blocks that rise and do not touch")
