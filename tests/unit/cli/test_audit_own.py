"""`privet audit module:function`: anybody's code, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from privet.cli import main

CODE = """
import numpy as np
from privet import Laplace, RandomizedResponse

random = np.random.default_rng()
exact = Laplace(sensitivity=1, epsilon=1)
constant = 4

def careless(value):
    return value + round(random.laplace(0, 0.5))

def many(value, count, scale=1.0):
    return value + np.rint(random.laplace(0, scale, count)).astype(int)

def doubles(value, count):
    return value + random.laplace(0, 1, count)

def people(rows):
    return {"n": [len(rows["age"]) + int(random.geometric(0.6) - random.geometric(0.6))]}

def answer(text):
    return text if random.random() < 0.99 else "other"

def broken(value):
    return missing + value

class Kind:
    pass
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "mine.py").write_text(CODE, encoding="utf-8")
    (folder / "bad.py").write_text("x = 1\nraise ValueError('no such file')\n", encoding="utf-8")
    (tmp_path / "less.json").write_text('{"age": [31, 45]}', encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["audit", *arguments])
    return result.exit_code, result.output


def test_a_claim_that_is_false_is_refuted_with_status_1_and_told() -> None:
    status, told = run("code/mine.py:careless", "--neighbours", "10", "11", "--claimed", "1", "--samples", "20000")
    assert status == 1
    for word in ("claimed", "epsilon 1", "at least", "witness", "output is", "power", "REFUTED"):
        assert word in told


def test_a_function_of_two_things_is_asked_for_many_at_once_and_drawn(here: Path) -> None:
    picture = here / "many.png"
    asked = ("code/mine.py:many", "--neighbours", "10", "11", "--claimed", "1", "--samples", "50000")
    status, told = run(*asked, "--plot", str(picture), "--json")
    report = json.loads(told)
    assert status == 0
    assert not report["refuted"]
    assert 0.5 < report["found"] <= 1
    assert report["releases"] == 35_000
    assert report["low_bits"] is None
    assert picture.stat().st_size > 10_000


def test_low_bits_of_doubles_are_looked_at_as_well() -> None:
    asked = ("code/mine.py:doubles", "--neighbours", "0.1", "0.7", "--claimed", "1", "--samples", "50000")
    status, told = run(*asked, "--json")
    report = json.loads(told)
    assert status == 1
    assert not report["refuted"]
    assert report["low_bits"]["refuted"]
    assert "REFUTED by the low bits" in run(*asked)[1]


def test_a_mechanism_object_claims_what_it_costs() -> None:
    status, told = run("code/mine.py:exact", "--neighbours", "10", "11", "--samples", "20000", "--json")
    assert status == 0
    assert json.loads(told)["epsilon"] <= 1


def test_inputs_may_be_texts_tables_and_files() -> None:
    more = '{"age": [31, 45, 60]}'
    asked = ("code/mine.py:people", "--neighbours", "@less.json", more, "--claimed", "2", "--samples", "4000")
    assert run(*asked)[0] == 0
    texts = ("code/mine.py:answer", "--neighbours", '"yes"', '"no"', "--claimed", "1", "--delta", "0.1")
    status, told = run(*texts, "--samples", "2000")
    assert status == 1
    assert "'yes'" in told or "'no'" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["code/none.py:f", "--neighbours", "1", "2", "--claimed", "1"], "there is no file 'code/none.py'"),
        (["no_such_module:f", "--neighbours", "1", "2", "--claimed", "1"], "there is no module 'no_such_module'"),
        (["code/bad.py:f", "--neighbours", "1", "2", "--claimed", "1"], "ValueError on line 2"),
        (["code/mine.py:carless", "--neighbours", "1", "2", "--claimed", "1"], "did you mean 'careless'?"),
        (["code/mine.py:", "--neighbours", "1", "2", "--claimed", "1"], "does not name what to audit"),
        (["code/mine.py:Kind", "--neighbours", "1", "2", "--claimed", "1"], "is a class"),
        (["code/mine.py:constant", "--neighbours", "1", "2", "--claimed", "1"], "cannot be called"),
        (["code/mine.py:broken", "--neighbours", "1", "2", "--claimed", "1", "--samples", "200"], "NameError"),
        (["code/mine.py:careless", "--neighbours", "yes", "no", "--claimed", "1"], "is written '\"yes\"'"),
        (["code/mine.py:careless", "--neighbours", "@gone.json", "2", "--claimed", "1"], "cannot be read"),
        (["code/mine.py:careless", "--neighbours", "1", "2"], "pass the claim"),
        (["code/mine.py:careless", "--claimed", "1"], "pass the two inputs"),
        (["code/mine.py:careless", "--neighbours", "1", "2", "--claimed", "-1"], "at least 0"),
        (["code/mine.py:careless", "--neighbours", "1", "2", "--claimed", "1", "--samples", "5"], "samples"),
        (["code/mine.py:careless", "--neighbours", "1", "2", "--claimed", "1", "--batched"], "raised TypeError"),
        (["code/mine.py:careless", "--all"], "by itself"),
        (["laplace", "--neighbours", "1", "2"], "for your own code"),
        (["laplace", "--plot", "x.png"], "choose one"),
        (["--attacks", "--plot", "x.png"], "--plot draws the audit of one mechanism"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_advice(arguments: list[str], said: str) -> None:
    status, told = run(*arguments)
    assert status == 2
    assert said in " ".join(told.split())


def test_a_picture_that_cannot_be_written_is_refused() -> None:
    asked = ("code/mine.py:many", "--neighbours", "1", "2", "--claimed", "1", "--samples", "1000")
    status, told = run(*asked, "--plot", "gone/away/x.png")
    assert status == 2
    assert "cannot be written" in told


def test_a_registered_mechanism_is_drawn_too(here: Path) -> None:
    status, _ = run("randomized response of 5", "--samples", "400000", "--plot", str(here / "five.png"))
    assert status == 0
    assert (here / "five.png").stat().st_size > 10_000
