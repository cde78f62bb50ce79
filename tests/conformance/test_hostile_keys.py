"""Every key that a reader of privet.toml asks for, given hostile values.

The keys are not listed here: the readers say which they know, when they read the examples below. What is allowed: the
file is read, or `BadConfig` names the key. A fixed tenth of the trials runs always, and all with `PRIVET_SOAK`.
"""

from __future__ import annotations

import copy
import datetime
import math
import os
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from privet.config import BadConfig
from privet.config.problems import Section
from privet.config.reading import parse_config

SOAK = bool(os.environ.get("PRIVET_SOAK"))

WRITTEN = {
    "true": "true",
    "false": "false",
    "zero": "0",
    "minus one": "-1",
    "one": "1",
    "two": "2",
    "half": "0.5",
    "minus zero": "-0.0",
    "huge": "1e400",
    "enormous": "1e99999",
    "tiny": "1e-400",
    "many decimals": "0." + "0" * 3000 + "1",
    "many digits": "9" * 4000,
    "largest": "9223372036854775807",
    "beyond": "9223372036854775808",
    "least": "-9223372036854775808",
    "far beyond": "340282366920938463463374607431768211456",
    "nan": "nan",
    "inf": "inf",
    "minus inf": "-inf",
    "underscore": "1_0",
    "hexadecimal": "0x10",
    "octal": "0o17",
    "binary": "0b11",
    "empty": '""',
    "space": '" "',
    "word": '"abc"',
    "number in quotes": '"1"',
    "decimal in quotes": '"0.5"',
    "Arabic": '"١"',
    "nul": '"a\\u0000b"',
    "control": '"\\u001b[31m"',
    "newline": '"a\\nb"',
    "direction": '"a\\u202eb"',
    "long": '"' + "x" * 5000 + '"',
    "very long": '"' + "x" * 100_000 + '"',
    "glob": '"*"',
    "root": '"/"',
    "device": '"/dev/null"',
    "url": '"http://localhost:1/x.csv"',
    "database url": '"postgresql://user:secret@localhost/x"',
    "select": '"SELECT 1"',
    "drop": '"\'; DROP TABLE visits; --"',
    "rows": '"rows"',
    "arrow": '"a -> b.c"',
    "bad arrow": '"->"',
    "date": "2025-01-01",
    "time": "07:32:00",
    "stamp": "2025-01-01T00:00:00",
    "zoned": "2025-01-01T00:00:00Z",
    "far future": "9999-12-31T23:59:59-14:00",
    "first": "0001-01-01T00:00:00+14:00",
    "empty list": "[]",
    "list of one": "[1]",
    "texts": '["a", "b"]',
    "twice": '["a", "a"]',
    "mixed": '[1, "a", true]',
    "nested": "[[[[]]]]",
    "deep": "[" * 50 + "]" * 50,
    "empty table": "{}",
    "table": "{ a = 1 }",
    "deep table": "{ a = { b = { c = {} } } }",
    "list of tables": "[{ a = 1 }, { b = 2 }]",
}

PEOPLE = {
    "source": "visits.csv",
    "unit": "patient",
    "contribution": {"groups": 2, "rows": 3},
    "version": "1",
    "rows": 1000,
    "columns": {
        "patient": "integer",
        "age": {"kind": "integer", "low": 0, "high": 110, "nullable": True},
        "cost": {"kind": "number", "low": 0, "high": 10, "step": 0.5},
        "ward": {"values": ["A", "B"]},
        "day": {"kind": "date", "low": datetime.date(2025, 1, 1), "high": datetime.date(2025, 12, 31)},
    },
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "full": {
        "budget": {
            "epsilon": 3,
            "delta": 1e-06,
            "per_query": {"epsilon": 1, "delta": 1e-06},
            "expires": datetime.datetime(2090, 1, 1, tzinfo=datetime.UTC),
            "keys_share": 0.5,
        },
        "tables": {
            "visits": PEOPLE,
            "scripts": {
                "source": "scripts.csv",
                "link": "visit -> visits.id",
                "contribution": {"groups": 2, "rows": 3},
                "columns": {"visit": "integer"},
            },
        },
        "public": {"wards": {"source": "wards.csv", "key": "ward", "rows": 10, "columns": {"ward": "text"}}},
        "views": {"old": "SELECT patient, age FROM visits WHERE age > 60"},
        "analysts": {"alice": {"epsilon": 1, "delta": 1e-07, "tables": ["visits"]}},
        "engine": {"memory_limit": "1GB", "threads": 2, "timeout": 60, "scans": 2, "parts": 2},
        "ledger": {"path": "x.ledger"},
        "fingerprint": {"key": "fingerprint.key"},
    },
    "rows": {
        "budget": {"rho": 0.1},
        "tables": {
            "visits": {
                "source": ["a.csv", "b.csv"],
                "unit": {"rows": 3},
                "neighbors": "change-one",
                "units": 100,
                "columns": {"age": {"kind": "integer", "low": 0, "high": 110}},
            }
        },
    },
    "window": {
        "budget": {"epsilon": 1},
        "tables": {
            "visits": {
                **PEOPLE,
                "source": {"database": "x.duckdb", "table": "visits"},
                "unit": {"person": "patient", "time": "day", "days": 7, "group": 2},
            }
        },
    },
}
EXAMPLES["full"]["tables"]["visits"] = {**PEOPLE, "key": "id", "columns": {**PEOPLE["columns"], "id": "integer"}}  # type: ignore[dict-item]


class Raw(str):
    """A value as TOML writes it."""


def written(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {written(inner)}' for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else repr(value)


def read(data: dict[str, Any], folder: Path) -> object:
    """Read a privet.toml."""
    text = "\n".join(f"{key} = {written(value)}" for key, value in data.items())
    return parse_config(text, folder / "privet.toml", name="privet.toml")


def keys_of(data: dict[str, Any], folder: Path) -> list[tuple[str, ...]]:
    """Return every key that the readers ask for, with its path, as they say themselves; and those of what they read."""
    asked: dict[tuple[str, ...], None] = {}
    has = Section.has

    def noted(section: Section, key: str) -> bool:
        asked[tuple(map(str, (*section.path, key)))] = None
        return has(section, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Section, "has", noted)
        read(data, folder)
    return [*asked, *(path for path in _paths(data) if path not in asked)]


def _paths(data: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(data, dict):
        return []
    return [one for key, inner in data.items() for one in ((*path, key), *_paths(inner, (*path, key)))]


def changed(data: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any] | None:
    """Return the data with one key set; None where its table is none there."""
    made = copy.deepcopy(data)
    at: Any = made
    for key in path[:-1]:
        at = at.get(key) if isinstance(at, dict) else None
    if not isinstance(at, dict):
        return None
    at[path[-1]] = value
    return made


def kind_of(value: object) -> str:
    """Return what TOML calls a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return type(value).__name__


FORMS: dict[str, set[str]] = {}
"""The kinds of value that each key has in the examples; a key that is in none may have any that its reader takes."""

for _data in EXAMPLES.values():
    for _path in _paths(_data):
        _at: Any = _data
        for _key in _path:
            _at = _at[_key]
        FORMS.setdefault(_path[-1], set()).add(kind_of(_at))
for _name in ("low", "high"):
    FORMS.pop(_name)  # a number, a date or a timestamp, by the kind of the column

KEYS = [
    pytest.param(data, path, id=f"{name} {'.'.join(path)}")
    for name, data in EXAMPLES.items()
    for path in keys_of(data, Path("/nonexistent"))
]


def test_the_readers_say_which_keys_they_know() -> None:
    known = {path[-1] for data in EXAMPLES.values() for path in keys_of(data, Path("/nonexistent"))}
    page = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text()
    documented = {
        "epsilon",
        "delta",
        "rho",
        "per_query",
        "expires",
        "keys_share",
        "source",
        "unit",
        "link",
        "neighbors",
    }
    documented |= {
        "contribution",
        "rows",
        "units",
        "version",
        "key",
        "memory_limit",
        "threads",
        "timeout",
        "scans",
        "parts",
        "path",
        "head",
    }
    assert documented <= known
    assert all(f"`{key}`" in page for key in documented)


TRIED = [0]


@pytest.fixture(scope="module", autouse=True)
def told() -> Iterator[None]:
    """Print how much was tried, where output is shown."""
    yield
    print(f"\n{len(KEYS)} keys, {TRIED[0]:,} trials")


@pytest.mark.parametrize(("data", "path"), KEYS)
def test_a_hostile_value_of_a_key_is_refused_by_name_or_read(
    tmp_path: Path, data: dict[str, Any], path: tuple[str, ...]
) -> None:
    faults = []
    for label, text in WRITTEN.items():
        if not SOAK and zlib.crc32(f"{'.'.join(path)}.{label}".encode()) % 10:
            continue
        made = changed(data, path, Raw(text))
        if made is None:
            continue
        TRIED[0] += 1
        try:
            read(made, tmp_path)
        except BadConfig as error:
            if not any(key in str(error) for key in path):
                faults.append(f"{'.'.join(path)} = {label}: the message names nothing: {error}")
            continue
        except Exception as error:
            faults.append(f"{'.'.join(path)} = {label}: {type(error).__name__}: {str(error)[:200]}")
            continue
        given = tomllib.loads(f"given = {text}")["given"]
        if isinstance(given, float) and not math.isfinite(given):
            faults.append(f"{'.'.join(path)} = {label}: read, though it is no number")
        if FORMS.get(path[-1], {kind_of(given)}).isdisjoint({kind_of(given)}):
            faults.append(f"{'.'.join(path)} = {label}: read, though it is of another kind")
    assert not faults, "\n".join(faults)
