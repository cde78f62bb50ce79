"""Whole numbers as options of the server's commands."""

from __future__ import annotations

from typing import Any

import click

from privet.core.numbers import written_whole


class WholeRange(click.IntRange):
    """A whole number within bounds, in the digits 0 to 9: `int` also takes underscores and digits of other scripts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or refuse the text."""
        if isinstance(value, str) and written_whole(value) is None:
            self.fail(f"{value!r} is not a whole number such as 3", param, ctx)
        return super().convert(value, param, ctx)
