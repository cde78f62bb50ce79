"""Single values as privet.toml writes them: text, whole numbers, exact numbers, times, paths."""

from __future__ import annotations

import datetime
import glob
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from privet.core.errors import BadParameter
from privet.core.exact import open_probability, positive, whole
from privet.core.given import moment
from privet.ledger.records import Time


def text(parameter: str, *, most: int = 200) -> Callable[[object], str]:
    """Return a reader of text that is not empty."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > most or "\x00" in value:
            raise BadParameter(parameter, value, f"text in quotes, of 1 to {most} characters")
        return value

    return read


def label(value: object) -> str:
    """Return a version: any short text."""
    if not isinstance(value, str) or len(value) > 200:
        raise BadParameter("version", value, 'a label in quotes, such as "2025-03"')
    return value


def integer(parameter: str, *, least: int, most: int) -> Callable[[object], int]:
    """Return a reader of whole numbers in a range."""
    return lambda value: whole(value, parameter, least=least, most=most)


def above_zero(parameter: str) -> Callable[[object], Fraction]:
    """Return a reader of numbers above zero: a decimal in the file is exactly that decimal."""

    def read(value: object) -> Fraction:
        _check_number(value, parameter)
        return positive(value, parameter)

    return read


def part(parameter: str) -> Callable[[object], Fraction]:
    """Return a reader of numbers strictly between 0 and 1, exactly."""

    def read(value: object) -> Fraction:
        _check_number(value, parameter)
        return open_probability(value, parameter)

    return read


def _check_number(value: object, parameter: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise BadParameter(parameter, value, "a number, written without quotes, such as 0.5 or 1e-6")


def instant(value: object) -> Time:
    """Return a point in time with its zone."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        raise BadParameter("expires", str(value), "a time with its zone and without quotes: 2026-12-31T23:59:59Z")
    return moment(value, "expires")


def path_in(folder: Path, parameter: str) -> Callable[[object], Path]:
    """Return a reader of paths, which are relative to a folder."""

    def read(value: object) -> Path:
        return Path(os.path.abspath(folder / _plain_path(value, parameter)))

    return read


def pattern_in(folder: Path, parameter: str) -> Callable[[object], str]:
    """Return a reader of paths that may hold *, ? and [...], which the folder's own name may not."""

    def read(value: object) -> str:
        written = _plain_path(value, parameter)
        if "://" in written:
            raise BadParameter(parameter, value, "a path to files on this machine")
        if os.path.isabs(written) or not glob.has_magic(written):
            return os.path.abspath(folder / written)
        return os.path.join(glob.escape(os.path.abspath(folder)), written)

    return read


def _plain_path(value: object, parameter: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\x00" in value or len(value) > 4096:
        raise BadParameter(parameter, value, 'a path in quotes, such as "data/visits.parquet"')
    return value
