"""The demo's picture where it cannot be drawn: the demo says what to install, or that the path is no place."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from privet.answer import Series
from privet.cli import demo
from privet.cli.demo import draw
from privet.core.errors import RequestError

DAYS = tuple(datetime.date(2025, 1, day) for day in (1, 2, 3))


def answer() -> Any:
    counts = Series("flu", (3, 4, 5), (1.0, 2.0, 3.0), (5.0, 6.0, 7.0), (1.0, 1.0, 1.0))
    return SimpleNamespace(series=(Series("day", DAYS), counts), confidence=0.95)


def test_without_matplotlib_there_is_no_picture_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo._draw([], tmp_path / "x.png") is None
    demo._print_end("9:abc", None, None)
    assert "python -m pip install matplotlib" in capsys.readouterr().out


def test_the_picture_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    draw(answer(), {(DAYS[0],): (3,)}, tmp_path / "new" / "x.png")
    assert (tmp_path / "new" / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_path_that_is_no_place_for_a_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "x.png", tmp_path / "x.nonsense"):
        with pytest.raises(RequestError, match="cannot be written"):
            draw(answer(), {}, path)
