"""Where keys stand: the locator finds the keys that Python's reader finds, each on its own line."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.config.problems import KeyPath, locate

DOCUMENT = """\
# TODO(privet): a note
top = 1 # TODO(privet): another, after a value
"quoted key" = '''
[not.a.table]
x = 1
''' # TODO(privet): after a long text
[tables.visits]
source = "data # not a comment, [nor = a table].parquet"
list = [ # TODO(privet): inside
    "]", '}', # ] }
    { a = 1, b = [2, 3] },
]
dotted.deep . "er" = 1979-05-27 07:32:00
tricky = \"\"\"one "" two \\\\\"\"\"\"\"
escaped = "a\\\\" # b = 1
[tables.visits.columns]
age = { kind = "integer", low = 0, high = 120 }
[tables]
other = { }
[[many]]
one = 1
[[many]]
one = 2
[many.inner]
two = 2
"""


def paths_of(value: object, path: KeyPath = ()) -> set[KeyPath]:
    """Return the path of every key and element of what the reader returned."""
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    found = {(*path, key) for key, _ in inside}
    return found.union(*(paths_of(one, (*path, key)) for key, one in inside)) if inside else found


def test_every_key_of_a_tricky_document_is_found_on_its_line() -> None:
    places = locate(DOCUMENT)
    lines = DOCUMENT.splitlines()
    assert set(places.lines) == paths_of(tomllib.loads(DOCUMENT))

    def on(text: str) -> int:
        return 1 + next(number for number, line in enumerate(lines) if text in line)

    assert places.line(("top",)) == on("top = 1")
    assert places.line(("quoted key",)) == on("quoted key")
    assert places.line(("tables", "visits")) == on("[tables.visits]")
    assert places.line(("tables",)) == lines.index("[tables]") + 1
    assert places.line(("tables", "visits", "list", 2, "b")) == on("b = [2, 3]")
    assert places.line(("tables", "visits", "dotted", "deep", "er")) == on("dotted")
    assert places.line(("tables", "visits", "tricky")) == on("tricky")
    assert places.line(("tables", "visits", "escaped")) == on("escaped")
    assert places.line(("tables", "visits", "columns", "age", "high")) == on("age =")
    assert places.line(("many", 1, "one")) == on("one = 2")
    assert places.line(("many", 1, "inner", "two")) == on("two = 2")


def test_notes_of_what_is_to_be_filled_in_are_found_in_comments_only() -> None:
    places = locate(DOCUMENT + 'text = "# TODO(privet): not a comment"\n# TODO: nor of ours\n')
    assert [what for _, what in places.todos] == ["a note", "another, after a value", "after a long text", "inside"]
    assert [line for line, _ in places.todos] == [1, 2, 6, 9]


def test_a_key_that_is_not_there_is_told_with_the_table_around_it() -> None:
    places = locate("[a]\nb = 1\n[c]\n")
    assert places.line(("a", "missing")) == 1
    assert places.line(("c", "missing", "deeper")) == 3
    assert places.line(("nowhere",)) == 1


def test_lines_are_counted_alike_with_either_line_end() -> None:
    text = "a = 1\n\n[b]\nc = 2\n"
    assert locate(text).lines == locate(text.replace("\n", "\r\n")).lines


KEYS = st.text(min_size=1, max_size=4)
SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), st.text(max_size=6), st.floats(-9, 9))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


def written(value: object) -> str:
    """Return a value as TOML on one line; JSON's strings are TOML's, but for what TOML does not escape."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written(key)} = {written(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" if not c.isalnum() else c for c in value) + '"'
    return json.dumps(value)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=3), st.booleans())
def test_the_locator_finds_exactly_the_keys_that_the_reader_finds(
    top: dict[str, Any], table: dict[str, Any], spread: bool
) -> None:
    surrogates = any("\ud800" <= c <= "\udfff" for c in written(top) + written(table))
    if surrogates or "sub" in top:
        return
    lines = [f"{written(key)} = {written(value)}  # x" for key, value in top.items()]
    lines += ["", "[sub]"] + [f"{written(key)} = {written(value)}" for key, value in table.items()]
    text = "\n".join(lines) + "\n"
    if spread:
        text = text.replace("[", "[\n") if not any(isinstance(v, dict) for v in top.values()) else text
        text = text.replace("[\nsub]", "[sub]")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    places = locate(text)
    assert set(places.lines) == paths_of(data)
    if not spread:
        for number, key in enumerate(top, start=1):
            assert places.line((key,)) == number


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", "a=1"])
def test_small_documents_are_read(text: str) -> None:
    assert set(locate(text).lines) == paths_of(tomllib.loads(text))
