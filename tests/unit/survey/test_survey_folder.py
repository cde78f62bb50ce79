"""A survey's folder: what is accepted, kept, refused and counted, and what a respondent sends again."""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet import local, survey
from privet.core.errors import BadParameter, BadValue, ParseError, RequestError

YES = survey.SurveyQuestion("yes", "Yes?", ["no", "yes"], epsilon=1)
WHICH = survey.SurveyQuestion("which", "Which?", ["a", "b", "c"], epsilon=2)
BOTH = survey.Survey("both", [YES, WHICH])
ONE = survey.Survey("one", [YES, WHICH], epsilon=2)


@pytest.fixture
def folder(tmp_path: Path) -> survey.SurveyFolder:
    return survey.SurveyFolder.create(tmp_path / "survey", BOTH)


def test_a_survey_is_read_as_it_was_written_and_nothing_else_is() -> None:
    coins = survey.SurveyQuestion("coins", "Toss $ <b>", ["nö", "yes"], method="two coins")
    many = survey.SurveyQuestion("many", "Many?", [str(k) for k in range(40)], epsilon=1)
    asked = survey.Survey("name", [YES, coins, many])
    assert many.method == "optimized unary"
    assert survey.read_survey(asked.to_json()) == asked
    told = json.loads(asked.to_json())
    told["questions"][0]["odds"]["p"] = ["1", "1"]
    changed = [
        json.dumps(told),
        asked.to_json()[:-1],
        json.dumps({**json.loads(asked.to_json()), "privet_survey": 2}),
        json.dumps({**json.loads(asked.to_json()), "epsilon": "100"}),
        "[]",
        "{}",
        "[" * 10**5,
        "x" * 2**21,
    ]
    for text in changed:
        with pytest.raises(ParseError):
            survey.read_survey(text)


def test_the_stated_epsilon_is_that_of_all_questions_unless_another_is_given() -> None:
    assert BOTH.stated == Fraction(BOTH.oracles["yes"].epsilon) + Fraction(BOTH.oracles["which"].epsilon)
    assert ONE.stated == 2
    with pytest.raises(BadParameter, match="to answer one question"):
        survey.Survey("s", [YES], epsilon=0.5)
    with pytest.raises(BadParameter):
        survey.Survey("s", [YES, YES])
    for terms in (
        {"method": "k-ary response"},
        {"epsilon": 1, "truth": 0.5},
        {"method": "two coins", "epsilon": 1},
        {"epsilon": 0},
    ):
        with pytest.raises(BadParameter):
            survey.SurveyQuestion("q", "?", ["a", "b"], **terms)  # type: ignore[arg-type]


def test_reports_are_counted_once_and_kept(folder: survey.SurveyFolder) -> None:
    people = [survey.Respondent(BOTH) for _ in range(20)]
    lines = [person.respond("yes", "yes") for person in people] + [person.respond("b", "which") for person in people]
    assert folder.add_all(lines) == ["accepted"] * 40
    assert folder.add(lines[0]) == "repeated"
    again = survey.SurveyFolder(folder.folder)
    assert again.reports == {"yes": 20, "which": 20}
    assert again.respondents == 20
    assert again.rejected == {"repeated": 1}
    assert again.estimate("yes").values.tolist() == folder.estimate("yes").values.tolist()
    assert again.epsilon_sent(json.loads(lines[0])["respondent"]) == BOTH.stated


def test_a_second_report_beyond_the_stated_epsilon_is_refused(tmp_path: Path) -> None:
    collected = survey.SurveyFolder.create(tmp_path / "one", ONE)
    wide = survey.Respondent(survey.Survey("one", [YES, WHICH]))
    lines = [wide.respond("a", "which"), wide.respond("yes", "yes")]
    told = [{**json.loads(line), "survey": ONE.digest} for line in lines]
    assert [collected.add(json.dumps(one)) for one in told] == ["accepted", "beyond the stated epsilon"]
    assert collected.reports == {"yes": 0, "which": 1}
    assert collected.epsilon_sent(told[0]["respondent"]) == 2
    person = survey.Respondent(ONE)
    person.respond("a", "which")
    with pytest.raises(RequestError, match="nothing was sent"):
        person.respond("yes", "yes")


def test_an_answer_is_not_changed_by_a_second_report(folder: survey.SurveyFolder) -> None:
    line = json.loads(survey.Respondent(BOTH).respond("yes", "yes"))
    other = json.loads(survey.Respondent(BOTH).respond("no", "yes"))
    assert folder.add(json.dumps(line)) == "accepted"
    assert folder.add(json.dumps({**other, "respondent": line["respondent"]})) == "answered before"
    assert folder.add(json.dumps({**line, "respondent": other["respondent"]})) == "repeated"
    assert folder.reports["yes"] == 1


def test_what_is_no_report_of_the_survey_is_rejected_and_counted(folder: survey.SurveyFolder) -> None:
    good = json.loads(survey.Respondent(BOTH).respond("yes", "yes"))
    folder.add(survey.Respondent(BOTH).respond("yes", "yes"))
    before = folder.estimate("yes").values.tolist()
    two = json.loads(BOTH.oracles["yes"].client.reports(["yes", "no"]).to_json())
    forged = {**good["report"], "reports": [[good["report"]["reports"][0][0], "/w=="]]}
    longer = {**good["report"], "reports": [[good["report"]["reports"][0][0], "AAAA"]]}
    other = json.loads(local.KaryResponse(["no", "yes"], epsilon=2).client.report("yes").to_json())
    bad: list[tuple[Any, str]] = [
        ({**good, "survey": "0" * 16}, "another survey"),
        ({**good, "question": "nothing"}, "another survey"),
        ({**good, "question": "which"}, "another survey"),
        ({**good, "report": other}, "another survey"),
        ({**good, "privet_survey": 2}, "not whole"),
        ({**good, "report": {**good["report"], "privet_local": 2}}, "not whole"),
        ({**good, "respondent": "me"}, "not whole"),
        ({**good, "respondent": 5}, "not whole"),
        ({**good, "question": ["yes"]}, "another survey"),
        ({**good, "report": two}, "not whole"),
        ({**good, "report": longer}, "not whole"),
        ({**good, "report": forged}, "impossible content"),
        ([], "not whole"),
        (None, "not whole"),
        ({}, "not whole"),
    ]
    for told, reason in bad:
        assert folder.add(json.dumps(told)) == reason, told
    raw = [json.dumps(good)[:-1], b"\xff\xfe", "", "[" * 10**4, "x" * 10**6, '{"respondent": NaN}']
    assert folder.add_all(raw) == ["not whole"] * len(raw)
    assert folder.estimate("yes").values.tolist() == before
    assert sum(folder.rejected.values()) == len(bad) + len(raw)
    assert survey.SurveyFolder(folder.folder).rejected == folder.rejected


def test_files_are_collected_and_those_with_rejected_reports_are_moved(folder: survey.SurveyFolder) -> None:
    person = survey.Respondent(BOTH)
    folder.arrive(person.respond("yes", "yes"))
    folder.arrive(person.respond("b", "which"))
    folder.arrive("nonsense")
    assert folder.collect() == {"accepted": 2, "not whole": 1}
    assert list((folder.folder / "reports").iterdir()) == []
    assert len(list((folder.folder / "rejected").iterdir())) == 1
    assert folder.collect() == {}


def test_a_line_that_a_crash_cut_short_is_dropped_and_others_stay(folder: survey.SurveyFolder) -> None:
    folder.add(survey.Respondent(BOTH).respond("yes", "yes"))
    kept = folder.folder / "collected.jsonl"
    whole = kept.read_bytes()
    kept.write_bytes(whole + whole[:30])
    again = survey.SurveyFolder(folder.folder)
    assert again.reports["yes"] == 1
    assert kept.read_bytes() == whole
    for broken in (b"{}\n" + whole, whole + whole, whole.replace(b'"yes"', b'"xyz"')):
        kept.write_bytes(broken)
        with pytest.raises(RequestError, match="damaged"):
            survey.SurveyFolder(folder.folder)


def test_what_cannot_be_kept_is_not_counted(folder: survey.SurveyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    from privet.survey import survey_folder as module

    def full(path: Path, body: bytes) -> None:
        raise RequestError("no room")

    line = survey.Respondent(BOTH).respond("yes", "yes")
    with monkeypatch.context() as patch:
        patch.setattr(module, "append_file", full)
        with pytest.raises(RequestError, match="no room"):
            folder.add(line)
    assert folder.add(line) == "accepted"
    assert folder.reports["yes"] == 1


def test_two_collectors_and_many_threads_agree(folder: survey.SurveyFolder) -> None:
    other = survey.SurveyFolder(folder.folder)
    lines = [survey.Respondent(BOTH).respond("yes", "yes") for _ in range(40)]
    found: list[str] = []

    def add(collected: survey.SurveyFolder) -> None:
        found.extend(collected.add(line) for line in lines)

    threads = [threading.Thread(target=add, args=(one,)) for one in (folder, other, folder)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found.count("accepted"), found.count("repeated")) == (40, 80)
    assert survey.SurveyFolder(folder.folder).reports["yes"] == 40


def test_a_respondent_sends_the_same_bytes_whatever_is_answered_then(tmp_path: Path) -> None:
    path = tmp_path / "me"
    first = survey.Respondent(BOTH, path).respond("yes", "yes")
    assert survey.Respondent(BOTH, path).respond("no", "yes") == first
    kept = path.read_text()
    assert path.stat().st_mode & 0o077 == 0
    assert set(json.loads(kept)) == {"privet_respondent", "survey", "respondent", "sent"}
    with pytest.raises(BadValue):
        survey.Respondent(BOTH, path).respond("maybe", "yes")
    with pytest.raises(RequestError, match="another survey"):
        survey.Respondent(ONE, path)
    for broken in ("", "{}", "[]", kept.replace('"sent": {', '"sent": [{')):
        path.write_text(broken)
        with pytest.raises(RequestError, match="put back"):
            survey.Respondent(BOTH, path)


def test_made_up_people_and_real_ones_do_not_mix(tmp_path: Path) -> None:
    made = survey.SurveyFolder.create(tmp_path / "made", BOTH)
    assert survey.simulate(made, 50, {"yes": 0.33, "no": 0.67}, "yes") == {"no": 34, "yes": 16}
    assert survey.simulate(made, 50, {"a": Fraction(1, 3), "b": Fraction(2, 3)}, "which") == {"a": 17, "b": 33, "c": 0}
    assert made.truth == {"yes": {"no": 34, "yes": 16}, "which": {"a": 17, "b": 33, "c": 0}}
    assert made.respondents == 50
    assert len(made.both("yes", "which")) == 50
    with pytest.raises(RequestError, match="made-up"):
        made.check_real()
    with pytest.raises(RequestError, match="already"):
        survey.simulate(made, 50, {"yes": 1}, "yes")
    real = survey.SurveyFolder.create(tmp_path / "real", BOTH)
    real.add(survey.Respondent(BOTH).respond("yes", "yes"))
    with pytest.raises(RequestError, match="real people"):
        survey.simulate(real, 50, {"a": 1}, "which")
    with pytest.raises(BadParameter, match="sum to 1"):
        survey.simulate(survey.SurveyFolder.create(tmp_path / "more", BOTH), 50, {"a": 0.5}, "which")


def test_a_folder_without_a_survey_is_told(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="has no survey"):
        survey.SurveyFolder(tmp_path)
    survey.SurveyFolder.create(tmp_path / "s", BOTH)
    with pytest.raises(RequestError, match="cannot be made"):
        survey.SurveyFolder.create(tmp_path / "s", BOTH)
    with pytest.raises(RequestError, match="name one"):
        BOTH.question(None)


@pytest.mark.parametrize("method", ["rappor", "RAPPOR"])
def test_rappor_is_refused_with_the_reason(method: str) -> None:
    """A survey takes one report of each respondent; permanent draws are for many, and need a memo on the device."""
    with pytest.raises(BadParameter, match=r"again and again.*local\.Memo of local\.Rappor"):
        survey.SurveyQuestion("flu", "Did you have the flu?", ("no", "yes"), epsilon=1, method=method)
