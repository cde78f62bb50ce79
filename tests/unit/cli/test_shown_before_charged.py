"""What a command is told to show is checked before it is charged: a slip in it costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from privet import cli
from worlds import write_visits

COUNT = "SELECT COUNT(*) AS n FROM visits"
BAD: list[tuple[list[str], str]] = [
    (["ranges", "visits", "age", "--quantile", "0"], "strictly between 0 and 1"),
    (["ranges", "visits", "age", "--quantile", "0.5", "--quantile", "1"], "strictly between 0 and 1"),
    (["ranges", "visits", "age", "--range", "60,20"], "below high"),
    (["ranges", "visits", "age", "--range", "500,"], "declared from 0 to 110"),
    (["ranges", "visits", "age", "--range", "2025-01-01,"], "low"),
    (["ranges", "visits", "age", "--range", "18"], "comma between"),
    (["ranges", "visits", "age", "--confidence", "1"], "confidence"),
    (["ranges", "visits", "age", "--plot", "age.bmp"], "ends in one of"),
    (["ranges", "visits", "age", "--plot", "nowhere/age.png"], "folder that exists"),
    (["ranges", "visits", "ward"], "numbers and dates"),
    (["marginals", "visits", "ward", "age", "--show", "nope"], "no column 'nope'"),
    (["marginals", "visits", "ward", "age", "--show", "ward,ward"], "different"),
    (["marginals", "visits", "ward", "age", "--ways", "1", "--show", "ward,age"], "not measured together"),
    (["marginals", "visits", "ward", "age", "--confidence", "0"], "confidence"),
    (["marginals", "visits", "ward", "age", "--plot", "ward.bmp"], "ends in one of"),
    (["marginals", "visits", "ward", "age", "--plot", "."], "folder that exists"),
    (["marginals", "visits", "ward", "age", "--subset", "", "--plot", "ward.png"], "one column or two"),
    (["marginals", "visits", "ward", "--ways", "1", "--weight", "ward=1", "--weight", "ward=2"], "once for each"),
    (["marginals", "visits", "ward", "age", "--ordered", "age"], "age=ranges"),
    (["marginals", "visits", "ward", "age", "--ordered", "age=ranges", "--ordered", "age=prefixes"], "once for each"),
    (["marginals", "visits", "ward", "age", "--ordered", "ward=ranges"], "not numbers or dates"),
    (["marginals", "visits", "ward", "age", "--count", "ward=attic"], "a declared value of ward"),
    (["marginals", "visits", "ward", "age", "--count", "ward"], "column=value"),
    (["marginals", "visits", "ward", "age", "--count", "=heart"], "column=value"),
    (["marginals", "visits", "ward", "age", "--count", "nope=1"], "no column 'nope'"),
    (["marginals", "visits", "ward", "age", "--count", "age=18..64,age=70"], "once for each column"),
    (["marginals", "visits", "ward", "age", "--count", "age=64..18"], "the lower one first"),
    (["marginals", "visits", "ward", "age", "--count", "age=500.."], "the lower one first"),
    (["marginals", "visits", "ward", "age", "--count", "age=a..b"], "a declared value of age"),
    (["marginals", "visits", "ward", "age", "--count", "age=nan.."], "a declared value of age"),
    (["marginals", "visits", "ward", "age", "--count", "age=12.5"], "a declared value of age"),
    (["marginals", "visits", "ward", "age", "--count", "age=2025-01-01.."], "a pair of ends"),
    (["marginals", "visits", "ward", "age", "--count", "ward=heart..lung"], "a declared value of ward"),
    (["marginals", "visits", "ward", "age", "--count", "ward=NULL"], "a declared value of ward"),
    (["marginals", "visits", "ward", "age", "--count", "ward=heart,,age=1"], "a declared value of ward"),
    (["marginals", "visits", "ward", "age", "--count", "ward=heart,"], "a declared value of ward"),
    (
        ["marginals", "visits", "ward", "age", "--ways", "1", "--count", "ward=heart,age=18..64"],
        "not measured together",
    ),
    (["marginals", "visits", "ward", "age", "--count", "age=18..64", "--confidence", "0"], "confidence"),
    (["marginals", "visits", "ward", "age", "--weight", "ward,age=1", "--weight", "age,ward=2"], "one weight"),
    (["above", "5", "SELECT AVG(age) FROM visits", "--limit", "1"], "COUNT or a SUM"),
    (["above", "5", "SELECT ward, COUNT(*) FROM visits GROUP BY ward", "--limit", "1"], "GROUP BY"),
    (["above", "5", "SELECT SUM(age) FROM visits", "--limit", "1"], "sensitivity="),
    (["above", "5", "SELECT COUNT(*) FROM visit", "--limit", "1"], "visits"),
    (["above", "5", f"{COUNT} WITHIN 5", "--limit", "1"], "leave out"),
    (["above", "5", COUNT, "--limit", "1", "--sensitivity", "1/3"], "opened for 0.333333"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_visits(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, [*arguments, "--analyst", "ana", "--epsilon", "0.01"])


def test_a_slip_in_what_is_shown_costs_nothing(folder: Path) -> None:
    assert run("ask", COUNT).exit_code == 0  # so that there is a ledger
    ledger = folder / "privet.ledger" / "ledger"
    before = ledger.read_bytes()
    for arguments, told in BAD:
        shown = run(*arguments)
        assert (shown.exit_code, shown.stdout) == (2, ""), arguments
        assert told in " ".join(shown.stderr.split()), arguments
        assert ledger.read_bytes() == before, arguments
    good = [one for one, _ in BAD if one[:2] == ["above", "5"]][-1][:-2]
    for arguments in (good, ["ranges", "visits", "age", "--quantile", "0.5", "--plot", "age.png"]):
        assert run(*arguments).exit_code == 0
        assert ledger.read_bytes() != before
    assert (folder / "age.png").stat().st_size > 1000
