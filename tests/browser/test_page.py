"""The survey's page in a real browser: the exact law, the same bytes again, and where the answer never goes."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import chromium
from chromium import Browser, Page

from privet import survey
from privet.survey.receiver import make_server

PROGRAM = chromium.find()
if PROGRAM is None:
    pytest.skip("no Chromium here: apt-get install chromium, then make test-browser", allow_module_level=True)

COINS = survey.SurveyQuestion("coins", "Did you?", ["no", "yes"], method="two coins")
KARY = survey.SurveyQuestion("kary", "Which?", ["red", "green", "blue"], epsilon=1)
UNARY = survey.SurveyQuestion(
    "unary", "Which?", [f"answer {k}" for k in range(11)], epsilon=1, method="optimized unary"
)
FIRST = "document.querySelector('section[data-question=coins]')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert PROGRAM is not None
    with Browser(PROGRAM) as found:
        yield found


@pytest.fixture
def collected(tmp_path: Path) -> survey.SurveyFolder:
    return survey.SurveyFolder.create(tmp_path / "survey", survey.Survey("A survey", [COINS, KARY, UNARY]))


@pytest.fixture
def address(collected: survey.SurveyFolder) -> Iterator[str]:
    server = make_server(collected, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(browser: Browser, address: str) -> Page:
    found = browser.open(address)
    found.wait("document.querySelectorAll('section').length === 3")
    return found


def answer(page: Page, place: int) -> None:
    page.run(f"{FIRST}.querySelectorAll('[role=radio]')[{place}].click()")
    page.run(f"{FIRST}.querySelector('.send').click()")
    page.wait(f"{FIRST}.querySelector('[role=status]').textContent.includes('eceived')")


def test_a_report_is_sent_once_and_then_the_same_again(
    page: Page, browser: Browser, address: str, collected: survey.SurveyFolder
) -> None:
    answer(page, 1)
    assert collected.reports["coins"] == 1
    sent = page.run("JSON.stringify({...localStorage})")
    page.run(f"{FIRST}.querySelector('.send').click()")
    page.wait(f"{FIRST}.querySelector('[role=status]').textContent.startsWith('Received')")
    page.go(address)
    page.wait("document.querySelectorAll('section').length === 3")
    page.run(f"{FIRST}.querySelector('.send').click()")
    page.wait(f"{FIRST}.querySelector('[role=status]').textContent.startsWith('Received')")
    assert page.run("JSON.stringify({...localStorage})") == sent
    posted = [request["postData"] for request in page.requests() if request["method"] == "POST"]
    assert len(posted) == 3
    assert len(set(posted)) == 1
    assert collected.reports["coins"] == 1
    assert collected.rejected == {"repeated": 2}


def test_the_answer_is_in_no_address_form_storage_or_message(page: Page) -> None:
    page.run(f"{FIRST}.querySelectorAll('[role=radio]')[1].click()")
    assert page.run("document.querySelectorAll('form, input, select, textarea, [name]:not(meta)').length") == 0
    before = page.run("JSON.stringify({...localStorage})")
    assert json.loads(next(iter(json.loads(before).values())))["sent"] == {}
    page.run(f"{FIRST}.querySelector('.send').click()")
    page.wait(f"{FIRST}.querySelector('[role=status]').textContent.startsWith('Received')")
    assert page.run(f"{FIRST}.querySelectorAll('[aria-checked=true]').length") == 0
    kept = json.loads(next(iter(json.loads(page.run("JSON.stringify({...localStorage})")).values())))
    assert set(kept) == {"respondent", "sent"}
    told = json.loads(kept["sent"]["coins"])
    assert set(told) == {"privet_survey", "survey", "respondent", "question", "report"}
    for request in page.requests():
        assert request["url"].rsplit("/", 1)[1] in ("", "survey.json", "reports")
        assert request.get("postData", kept["sent"]["coins"]) == kept["sent"]["coins"]
    assert page.run("sessionStorage.length + document.cookie.length + history.length") <= 3
    assert page.complaints() == []


def test_a_browser_that_keeps_nothing_sends_nothing(browser: Browser, address: str) -> None:
    page = browser.open("about:blank")
    page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="Storage.prototype.setItem = () => { throw new Error('forbidden'); };",
    )
    page.go(address)
    page.wait("!document.getElementById('problem').hidden")
    assert page.run("document.querySelectorAll('section').length") == 0
    assert all(request["method"] == "GET" for request in page.requests())


def test_forbidden_scripts_do_not_run(page: Page) -> None:
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s); 0"
    )
    page.run("fetch('http://127.0.0.1:1/').catch(() => 0)")
    assert page.run("window.broken") is None
    assert any("Content Security Policy" in told for told in page.complaints())


def test_all_bytes_give_the_exact_matrix_of_two_coins(page: Page, collected: survey.SurveyFolder) -> None:
    counts = page.run(
        "(() => { const odds = "
        + json.dumps(odds_of(collected, "coins"))
        + """;
          const again = {}, found = [];
          const once = (bytes) => { let place = 0; return (into) => {
            if (into.length !== 1) throw new Error("a byte each");
            if (place === bytes.length) throw again;
            into[0] = bytes[place++]; return into; }; };
          for (let answer = 0; answer < 2; answer++) {
            const row = [0, 0]; found.push(row);
            for (let a = 0; a < 256; a++) for (let b = 0; b < 4; b++) {
              try { row[privetSurvey.content(odds, 2, answer, once([a, b]))[0]] += 1; }
              catch (error) { if (error !== again) throw error; }
            }
          }
          return found; })()"""
    )
    rows = [tuple(Fraction(count, sum(row)) for count in row) for row in counts]
    assert tuple(rows) == collected.survey.oracles["coins"].matrix()


@pytest.mark.parametrize("name", ["coins", "kary", "unary"])
def test_the_browsers_own_randomness_has_the_odds_of_the_matrix(
    page: Page, collected: survey.SurveyFolder, name: str
) -> None:
    oracle, n, values = collected.survey.oracles[name], 20_000, len(collected.survey.question(name).answers)
    chosen = values - 1
    counts = page.run(
        "(() => { const [odds, values, n, chosen] = "
        + json.dumps([odds_of(collected, name), values, n, chosen])
        + """;
          const counts = Array(values).fill(0);
          for (let time = 0; time < n; time++) {
            const bytes = privetSurvey.content(odds, values, chosen);
            if (odds.kind === "k-ary response") counts[bytes[0]] += 1;
            else counts.forEach((_, value) => { counts[value] += (bytes[value >> 3] >> (7 - (value & 7))) & 1; });
          }
          return counts; })()"""
    )
    for value, count in enumerate(counts):
        chance = float(oracle.p if value == chosen else oracle.q)
        # six standard deviations: 2e-9 each
        assert abs(count - n * chance) < 6 * (n * chance * (1 - chance)) ** 0.5


def odds_of(collected: survey.SurveyFolder, name: str) -> dict[str, Any]:
    told = json.loads(collected.survey.to_json())["questions"]
    found: dict[str, Any] = next(one["odds"] for one in told if one["name"] == name)
    return found
