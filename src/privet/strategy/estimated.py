"""Cells that were estimated by a method which looks at the data: answers without error bars."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.core.errors import RequestError
from privet.core.given import instance, listed, plain_text, set_fields, unwrapped

from .given_numbers import read_numbers
from .workloads import Floats, Workload, check_held, read_shape


@dataclass(frozen=True, eq=False)
class EstimatedCells:
    """One number for each cell, as a method estimates it that adapts to the data.

    The noise is known, but not the bias of what the method took for alike: there are no honest error bars.

    Args:
        cells: the estimates, in one row.
        shape: the number of values of each attribute.
        method: what made them.

    Example:
        >>> found = strategy.EstimatedCells([1.0, 2.0, 3.0], (3,), "by hand")
        >>> found.answers(strategy.prefixes(3)).tolist()
        [1.0, 3.0, 6.0]
        >>> print(found)
        3 cells by hand; error bars are not known
    """

    cells: Floats
    shape: tuple[int, ...]
    method: str

    def __post_init__(self) -> None:
        shape, held = read_shape(self.shape), unwrapped(self.cells)
        many = math.prod(shape)
        check_held(many)
        if len(listed(held, "cells", "a list of numbers", most=many)) != many:
            raise RequestError(f"cells has one number for each of the {many:,} cells of shape")
        numbers = read_numbers(held, "cells", many)
        numbers.setflags(write=False)
        set_fields(self, cells=numbers, shape=shape, method=plain_text(self.method, "method"))

    def answers(self, workload: Workload) -> Floats:
        """Return the answer of every query of a workload over the same domain."""
        instance(workload, Workload, "workload", "a workload, such as all_ranges(64)")
        if workload.shape != self.shape:
            raise RequestError(f"the workload is over a domain of shape {workload.shape}, the cells of {self.shape}")
        return workload.answers(self.cells)

    def table(self) -> Floats:
        """Return the cells as a table with an axis for each attribute."""
        return np.array(self.cells).reshape(self.shape)

    def __str__(self) -> str:
        return f"{self.cells.size:,} cells {self.method}; error bars are not known"
