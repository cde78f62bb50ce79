"""The server's pages over HTTP: who may see which, what they show, and that nothing but their own script may run."""

from __future__ import annotations

import gzip
import re
import urllib.parse
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet import study
from privet.config import read_config
from privet.server.pages import custodian_pages
from privet.server.pages.analyst_pages import ANALYST_PAGES
from privet.server.pages.custodian_pages import CUSTODIAN_PAGES, draft_of, read_schema_text
from privet.server.pages.explore_pages import _fit_facts
from privet.server.pages.page_serving import HERE, asset_address, assets
from privet.server.pages.question_builder import TESTS, BuiltQuestion, built_sql, read_sql
from privet.server.pages.spending import _drawn
from privet.server.pages.svg_charts import ChartPoint, draw_chart, ticks
from served import COUNT, DECLARED, Served, served, write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("pages")) as found:
        yield found


def text(world: Served, path: str, body: Any = None, **options: Any) -> str:
    reply = world.call(path, body, **options)
    assert reply.status == 200, reply.body
    return reply.body.decode()


@pytest.fixture(scope="module")
def answered(world: Served) -> str:
    return str(world.ask({"question": COUNT, "epsilon": 1}).json["id"])


EVERY = [(False, one) for one in ANALYST_PAGES] + [(True, one) for one in CUSTODIAN_PAGES]


@pytest.mark.parametrize("who", [None, "ana", "carol", "otto"])
@pytest.mark.parametrize(("custodian", "route"), EVERY, ids=lambda one: getattr(one, "path", str(one)))
def test_a_page_is_for_its_roles_alone(
    world: Served, answered: str, custodian: bool, route: Any, who: str | None
) -> None:
    roles = {None: None, "ana": "analyst", "carol": "custodian", "otto": "auditor"}
    path = route.path.format(dataset="clinic", answer=answered, format="csv", request="1", name="x", share=1)
    body = {"question": COUNT} if route.method == "POST" else None
    reply = world.call(path, body, who=who, custodian=custodian, method=route.method)
    if not route.roles or roles[who] in route.roles:
        assert reply.status in (200, 400, 404)
    elif who is None:
        assert b'action="/v1/login"' in reply.body or b'data-api="/v1/login"' in reply.body  # sent on to the log-in
    else:
        assert reply.status == 403


def test_pages_allow_their_own_script_and_style_and_nothing_else(world: Served, answered: str) -> None:
    paths = (
        "/login",
        "/d/clinic",
        "/d/clinic/answers",
        "/d/clinic/tables",
        "/d/clinic/budget",
        "/tour",
        f"/a/{answered}",
    )
    nonces = set()
    for path in paths:
        reply = world.call(path)
        policy = reply.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert policy.startswith("default-src 'none'")
        nonces.add(re.search("nonce-([^']+)", policy)[1])  # type: ignore[index]
        page = reply.body.decode()
        assert not re.search(r"<[^>]+\sstyle=|<style|\son[a-z]+=|javascript:", page)
        assert re.findall(r"<script[^>]*>", page) == [f'<script defer src="{asset_address("privet.js")}">']
        assert "http://" not in page
        assert "https://" not in page
    assert len(nonces) == len(paths)


def test_the_first_page_is_under_300_kb_compressed(world: Served) -> None:
    page = world.call("/d/clinic").body
    sizes = [len(assets()[name].packed) for name in ("privet.js", "privet.css")]
    assert len(gzip.compress(page)) + sum(sizes) < 300_000


def test_assets_are_kept_by_browsers_and_found_by_their_digest(world: Served) -> None:
    found = world.call(asset_address("privet.css"), who=None, headers={"Accept-Encoding": "gzip"})
    assert found.headers["content-encoding"] == "gzip"
    assert gzip.decompress(found.body) == (HERE / "assets" / "privet.css").read_bytes()
    assert "immutable" in found.headers["cache-control"]
    assert world.call("/assets/0/privet.css", who=None).status == 404
    digest = assets()["privet.css"].digest
    for path in ("..%2fpage_serving.py", "..%2f..%2fpage_serving.py", "layout.html"):
        assert world.call(f"/assets/{digest}/{path}", who=None).status == 404


def test_a_plan_shows_its_price_and_invented_values_and_charges_nothing(world: Served) -> None:
    before = world.call("{d}/history").json["charges"]
    sql = "SELECT ward, AVG(age) AS age FROM visits GROUP BY ward"
    page = text(world, "/d/clinic/plan", {"question": sql, "epsilon": "0.5", "size": "1000"})
    assert "epsilon 0.5" in page
    assert "Invented values" in page
    assert '<svg class="chart invented"' in page
    assert "Left afterwards" in page
    assert world.call("{d}/history").json["charges"] == before


def test_a_width_is_planned_instead_of_a_price(world: Served) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits"
    wide, narrow = (
        float(
            re.search(
                r"epsilon ([\d.]+)", text(world, "/d/clinic/plan", {"question": sql, "epsilon": "5", "within": one})
            )[1]
        )  # type: ignore[index]
        for one in ("200", "20")
    )
    assert wide < narrow


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("", "write a question"),
        ("SELECT * FROM visits", "single rows"),
        ("SELECT nothing FROM visits", "no column"),
        ("SELECT '<script>alert(1)</script>' FROM nowhere<b>", "&lt;"),
    ],
)
def test_what_cannot_be_planned_is_told_in_words_and_escaped(world: Served, sql: str, told: str) -> None:
    page = text(world, "/d/clinic/plan", {"question": sql, "epsilon": "1"})
    assert told in page
    assert "<script>" not in page
    assert "Nothing was charged" in page


def test_a_price_beyond_the_budget_says_what_fits_and_where_to_ask_for_more(world: Served) -> None:
    page = text(world, "/d/clinic/plan", {"question": "SELECT COUNT(*) AS n FROM staff", "epsilon": "25"})
    assert "does not cover this" in page
    assert "/d/clinic/budget#more" in page


def test_an_answer_shows_its_numbers_intervals_notes_and_files(world: Served, answered: str) -> None:
    page = text(world, f"/a/{answered}")
    rows = world.ask({"question": COUNT, "epsilon": 1}).json["result"]
    assert "heart" in page
    assert "±" in page
    assert "Each interval covers the added noise" in page
    assert rows is not None
    assert world.call(f"/a/{answered}/answer.csv").body.startswith(b"ward,n,")
    assert world.call(f"/a/{answered}/certificate.json").json["cost"]["epsilon"] == 1
    assert world.call(f"/a/{answered}/answer.png").body.startswith(b"\x89PNG")
    assert "free: asked before" in text(world, "/d/clinic/plan", {"question": COUNT, "epsilon": "1"})


def test_the_answer_of_another_account_does_not_exist(world: Served, answered: str) -> None:
    for path in ("", "/answer.csv", "/certificate.json", "/answer.png", "/pivot"):
        assert world.call(f"/a/{answered}{path}", who="ben").status == 404


def test_a_shared_answer_is_paid_from_the_reader_s_own_cap_and_not_from_the_data_set_s(tmp_path: Path) -> None:
    with served(tmp_path) as world:
        found = world.ask({"question": COUNT, "epsilon": 2}).json
        whole = world.server.datasets["clinic"].ledger.remaining(None).largest_epsilon
        assert world.call("/d/clinic/shared/1", who="ben").status == 404
        assert world.call("{d}/shared", {"answer": found["id"], "account": "ben"}).status == 201
        assert world.call("{d}/shared", {"answer": found["id"], "account": "nobody"}).status == 201
        assert world.call("{d}/shared", {"answer": found["id"], "account": "ana"}, who="ben").status == 404
        assert "Shared with you" in text(world, "/d/clinic/answers", who="ben")
        assert "ana shows you a question" in text(world, "/d/clinic/shared/1", who="ben")
        assert world.call("{d}/history", who="ben").json["charges"] == []
        read = world.ask({}, who="ben", operation="shared/1/read").json
        assert read["result"]["rows"] == found["result"]["rows"]
        assert world.server.datasets["clinic"].ledger.remaining(None).largest_epsilon == whole
        assert world.server.datasets["clinic"].ledger.remaining("ben").largest_epsilon == pytest.approx(18)
        assert world.call("/d/clinic/shared/1").status == 404
        assert world.call("{d}/shared/1/read", {}).status == 404
        assert world.call("{d}/shared/2/read", {}, who="ben").status == 404


def test_a_question_about_other_tables_is_shown_and_refused(tmp_path: Path) -> None:
    with served(tmp_path) as world:
        found = world.ask({"question": "SELECT COUNT(*) AS n FROM staff", "epsilon": 1}).json["id"]
        world.call("{d}/shared", {"answer": found, "account": "ben"})
        assert "Nothing was charged" in text(world, "/d/clinic/shared/1", who="ben")
        assert world.call("{d}/shared/1/read", {}, who="ben").status == 400
        assert world.call("{d}/history", who="ben").json["charges"] == []


def test_two_groupings_are_shown_as_a_cross_tab_at_no_cost(world: Served) -> None:
    sql = "SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex"
    found = world.ask({"question": sql, "epsilon": 1}).json["id"]
    charges = len(world.call("{d}/history").json["charges"])
    page = text(world, f"/a/{found}/pivot?index=ward&values=n")
    assert all(one in page for one in ("heart", "lung", ">f<", ">m<"))
    assert "Cross-tab" in text(world, f"/a/{found}")
    assert len(world.call("{d}/history").json["charges"]) == charges


def test_a_question_in_sql_is_shown_as_a_form_and_written_back(world: Served) -> None:
    sql = "SELECT ward, AVG(age) AS age FROM visits WHERE age >= 18 AND sex = 'f' GROUP BY ward"
    page = text(world, f"/d/clinic/builder?question={urllib.parse.quote(sql)}")
    assert '<option value="avg" selected>' in page
    assert 'value="18"' in page
    form = {
        "table": "visits",
        "function0": "avg",
        "of0": "age",
        "groups": "ward",
        "column0": "sex",
        "is0": "=",
        "value0": "f",
    }
    reply = world.call(f"/d/clinic/builder/sql?{urllib.parse.urlencode(form)}")
    assert "AVG(age)" in reply.headers["hx-trigger"]
    assert "sex = 'f'" in reply.headers["hx-trigger"]


@pytest.mark.parametrize(
    "built",
    [
        BuiltQuestion("visits"),
        BuiltQuestion("visits", ("ward", "sex"), (("rows", ""), ("sum", "cost"))),
        BuiltQuestion("visits", (), (("median", "age"),), (("age", ">=", "18"), ("note", "<>", "it's 5%"))),
        BuiltQuestion("staff", ("ward",), (("max", "salary"),)),
        BuiltQuestion("visits", ("ward",), (("people", "patient"),)),
    ],
)
def test_what_the_form_writes_is_read_back_by_it(world: Served, built: BuiltQuestion) -> None:
    data = world.server.datasets["clinic"]
    ana = world.server.accounts.identify(world.tokens["ana"])
    assert ana is not None
    session = data.desk(ana).admitting
    sql = built_sql(built, session.describe(built.table))
    assert built_sql(read_sql(sql, session), session.describe(built.table)) == sql


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5 UNION ALL SELECT 'x', 1 FROM wards",
        "SELECT COUNT(*) FROM visits WHERE age > 3 OR age < 2",
        "SELECT UPPER(ward) AS w, COUNT(*) AS n FROM visits GROUP BY w",
        "SELECT SUM(cost * 2) FROM visits",
    ],
)
def test_a_richer_question_stays_sql(world: Served, sql: str) -> None:
    page = text(world, f"/d/clinic/builder?question={urllib.parse.quote(sql)}")
    assert 'role="alert"' in page


def test_hostile_names_in_the_form_are_refused_by_name(world: Served) -> None:
    for form in (
        {"table": "visits; DROP TABLE visits", "function0": "rows"},
        {"table": "visits", "function0": "avg", "of0": "age) FROM staff --"},
        {"table": "visits", "function0": "evil", "of0": "age"},
        {"table": "visits", "function0": "rows", "column0": "age", "is0": "OR", "value0": "1"},
        {"table": "visits", "function0": "rows", "column0": "age", "is0": "=", "value0": "1 OR 1=1"},
    ):
        reply = world.call(f"/d/clinic/builder/sql?{urllib.parse.urlencode(form)}")
        assert "hx-trigger" not in reply.headers
        assert b'role="alert"' in reply.body


def test_a_request_for_budget_is_seen_by_the_custodian_and_granted(tmp_path: Path) -> None:
    with served(tmp_path) as world:
        reason = "a <b>yearly</b> report"
        assert world.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-9"}, "reason": reason}).status == 201
        assert "a &lt;b&gt;yearly&lt;/b&gt; report" in text(world, "/d/clinic/budget")
        page = text(world, "/d/clinic/requests", who="carol", custodian=True)
        assert "&lt;b&gt;" in page
        assert re.search(r'data-api="(/v1/datasets/clinic/requests/\d+/grant)"', page)
        assert "/grant" not in text(world, "/d/clinic/requests", who="otto", custodian=True)


def test_the_custodian_sees_every_release_with_its_plan(world: Served, answered: str) -> None:
    page = text(world, "/d/clinic/releases", who="carol", custodian=True)
    assert "count of rows in visits by ward" in page
    assert "/certificates/" in page
    overview = text(world, "/d/clinic", who="carol", custodian=True)
    assert "Top up" in overview
    assert "Top up" not in text(world, "/d/clinic", who="otto", custodian=True)
    assert "Head of entry" in text(world, "/d/clinic/ledger", who="otto", custodian=True)


def test_marginals_and_ranges_are_explored_at_no_cost(world: Served) -> None:
    counts = world.ask({"table": "visits", "columns": ["ward", "sex"], "epsilon": 1}, operation="marginals").json["id"]
    ranges = world.ask({"table": "visits", "column": "age", "epsilon": 1}, operation="ranges").json["id"]
    charges = len(world.call("{d}/history").json["charges"])
    assert "Count by" in text(world, f"/a/{counts}")
    assert "rows by ward, sex" in text(world, f"/a/{counts}/marginal?columns=ward&columns=sex")
    assert 'role="alert"' in text(world, f"/a/{counts}/marginal?columns=nothing")
    assert "Drag the ends" in text(world, f"/a/{ranges}")
    wide = text(world, f"/a/{ranges}/range?low=0&high=110")
    assert text(world, f"/a/{ranges}/range?low=10&high=20") != wide
    assert text(world, f"/a/{ranges}/range?low=20&high=10") == text(world, f"/a/{ranges}/range?low=10&high=20")
    for hostile in ("low=-1", "high=111", "low=x", "low=1e9", "low=99999999999999999999"):
        assert world.call(f"/a/{ranges}/range?{hostile}").status == 400
    assert world.call(f"/a/{ranges}/range", who="ben").status == 404
    assert len(world.call("{d}/history").json["charges"]) == charges


def test_tests_and_regressions_have_tables_that_statisticians_know(world: Served) -> None:
    hypothesis = {"kind": "Independence", "first": "ward", "second": "sex"}
    test = world.ask({"table": "visits", "hypothesis": hypothesis, "epsilon": 1}, operation="test").json["id"]
    page = text(world, f"/a/{test}")
    assert all(one in page for one in ("p-value", "Degrees of freedom", "Null hypothesis", "Assumptions"))
    fit = world.ask({"table": "visits", "formula": "cost ~ age + ward", "epsilon": 1}, operation="regress").json["id"]
    assert all(one in text(world, f"/a/{fit}") for one in ("(intercept)", "Std. error", "p-value", "ward: lung"))
    assert "ward: lung" not in text(world, f"/a/{fit}/submodel?formula=cost+~+age")
    assert 'role="alert"' in text(world, f"/a/{fit}/submodel?formula=nothing")
    assert "Linear regression" in text(world, "/d/clinic/explore?table=visits")


def test_r_squared_is_not_known_where_the_noise_does_not_bound_the_coefficients() -> None:
    rows = pa.table({"x": [place % 11 for place in range(3000)], "y": [place % 11 for place in range(3000)]})
    columns = {"x": privet.integer(0, 10), "y": privet.integer(0, 10)}
    table = privet.Table(rows, unit=privet.Rows(), columns=columns)
    with privet.Session({"t": table}, budget=privet.Pure(epsilon=2000)) as session:
        facts = [dict(_fit_facts(session.regress("t", "y ~ x", epsilon=one))) for one in (1000, 0.0001)]
    assert facts[0]["R squared"] == "1"
    assert facts[1]["R squared"].startswith("not known")


FORM = {
    "t0_table": "visits",
    "t0_source": "visits.csv",
    "t0_name0": "patient",
    "t0_kind0": "integer",
    "t0_name1": "age",
    "t0_kind1": "integer",
    "t0_low1": "0",
    "t0_high1": "110",
    "t0_name2": "ward",
    "t0_kind2": "text",
    "t0_values2": "heart, lung",
    "t0_name3": "day",
    "t0_kind3": "date",
    "t0_low3": "2025-01-01",
    "t0_high3": "2025-12-31",
    "t0_unit": "patient",
    "t0_groups": "2",
    "t0_rows": "3",
    "epsilon": "1",
    "delta": "1e-6",
}


def test_a_schema_becomes_a_file_that_is_tried_on_made_up_rows(world: Served, tmp_path: Path) -> None:
    schema = (
        'CREATE TABLE clinic.visits (patient INT NOT NULL, "age" NUMERIC(5, 2), ward varchar(9), PRIMARY KEY (patient))'
    )
    page = text(world, "/set-up/columns", {"schema": schema}, who="carol", custodian=True)
    assert all(f'value="{one}"' in page for one in ("visits", "patient", "age", "ward"))
    assert '<option value="patient" selected>' in page
    page = text(world, "/set-up/draft", FORM, who="carol", custodian=True)
    assert "The file is complete" in page
    assert "Made-up rows" in page
    (tmp_path / "privet.toml").write_text(draft_of(FORM))
    assert read_config(tmp_path / "privet.toml").tables["visits"].schema.columns["age"].high == 110


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"t0_low1": "0; x", "t0_high1": "9"}, "bounds are numbers"),
        ({"t0_high1": ""}, "both bounds"),
        ({"t0_low3": "yesterday"}, "bounds are dates"),
        ({"t0_kind1": "evil"}, "not a kind"),
        ({"epsilon": "1 # x"}, "epsilon"),
        ({"t0_groups": "0"}, "groups"),
        ({"t0_name1": 'age"\n[budget]\nepsilon = 9'}, ""),
        ({"t0_source": 'x"\n[analysts.eve]\nepsilon = 9'}, ""),
        ({"t0_unit": "nobody"}, "nobody"),
        ({"t0_low1": "", "t0_high1": ""}, "the lowest and the highest of visits.age;"),
    ],
)
def test_what_is_typed_wrongly_is_told_and_never_becomes_other_lines(world: Served, change: Any, told: str) -> None:
    page = text(world, "/set-up/draft", {**FORM, **change}, who="carol", custodian=True)
    if told:
        assert told in page
        assert "The file is complete" not in page
    assert not any(
        line.strip().startswith("[analysts.eve]") or line.strip() == "epsilon = 9" for line in page.splitlines()
    )
    assert "/tmp/" not in page
    assert "privet-set-up-" not in page


TWO_TABLES = """
CREATE TABLE clinic.patients (patient_id INTEGER PRIMARY KEY, region TEXT);
CREATE TABLE visits (visit INTEGER, patient_id INTEGER REFERENCES patients(patient_id), cost NUMERIC(9, 2),
  FOREIGN KEY (visit) REFERENCES nowhere(id));
CREATE TABLE regions (region TEXT, people INTEGER)
"""


def test_several_tables_are_set_up_with_links_and_public_ones(world: Served, tmp_path: Path) -> None:
    patients, visits, regions = read_schema_text(TWO_TABLES)
    assert visits.columns == (("visit", "integer"), ("patient_id", "integer"), ("cost", "number"))
    assert (patients.likely, regions.likely) == ("patient_id", "")
    page = text(world, "/set-up/columns", {"schema": TWO_TABLES}, who="carol", custodian=True)
    assert '<option value="link: patient_id -&gt; patients.patient_id" selected>' in page
    assert "nowhere" not in page
    form = {
        "t0_table": "patients", "t0_source": "patients.csv", "t0_unit": "patient_id", "t0_groups": "1", "t0_rows": "1",
        "t0_name0": "patient_id", "t0_kind0": "integer", "t0_name1": "region", "t0_kind1": "text",
        "t0_values1": "north, south",
        "t1_table": "visits", "t1_source": "visits.csv", "t1_unit": "link: patient_id -> patients.patient_id",
        "t1_groups": "3", "t1_rows": "2", "t1_name0": "patient_id", "t1_kind0": "integer", "t1_name1": "cost",
        "t1_kind1": "number", "t1_low1": "0", "t1_high1": "900",
        "t2_table": "regions", "t2_source": "regions.csv", "t2_unit": "public:", "t2_name0": "region",
        "t2_kind0": "text", "epsilon": "1", "delta": "1e-6",
    }  # fmt: skip
    page = text(world, "/set-up/draft", form, who="carol", custodian=True)
    assert "The file is complete" in page
    assert page.count("over made-up rows") == 2
    (tmp_path / "privet.toml").write_text(draft_of(form))
    config = read_config(tmp_path / "privet.toml")
    assert config.tables["visits"].schema.unit.to == "patients"
    assert set(config.public) == {"regions"}


def test_without_a_private_table_set_up_says_what_is_missing(world: Served) -> None:
    form = {**FORM, "t0_unit": "public:"}
    assert "The file is complete" not in text(world, "/set-up/draft", form, who="carol", custodian=True)
    assert "paste a schema" in text(world, "/set-up/draft", {"epsilon": "1"}, who="carol", custodian=True)


@pytest.mark.parametrize("kind", sorted(TESTS))
def test_every_hypothesis_has_a_form_whose_question_is_planned(world: Served, kind: str) -> None:
    form = text(world, f"/d/clinic/explore/test?table=visits&kind={kind}")
    known = {one.name for one in fields(getattr(study, kind)) if one.init}
    named = set(re.findall(r'name="hypothesis\.(\w+)"', form)) - {"kind"}
    assert named <= known
    assert {one.name for one in fields(getattr(study, kind)) if one.init and one.default is MISSING} <= named
    given = {
        "MeanTest": {"column": "cost", "equals": 500},
        "MeansTest": {"column": "cost", "by": "ward"},
        "PairedTest": {"first": "age", "second": "cost"},
        "Proportion": {"condition": "age > 50", "equals": 0.5},
        "TwoProportions": {"condition": "age > 50", "by": "ward", "groups": ["heart", "lung"]},
        "EqualProportions": {"column": "sex", "value": "f", "by": "ward"},
        "GoodnessOfFit": {"column": "ward", "shares": {"heart": 0.5, "lung": 0.5}},
        "Independence": {"first": "ward", "second": "sex"},
        "SameRanks": {"column": "age", "by": "ward", "groups": ["heart", "lung"], "width": 10},
    }[kind]
    body = {"table": "visits", "hypothesis": {"kind": kind, **given}, "epsilon": 0.1}
    assert world.call("{d}/plan/test", body).status == 200
    found = world.ask(body, operation="test").json["id"]
    page = text(world, f"/a/{found}")
    assert "Null hypothesis" in page
    assert TESTS[kind].rstrip("?") in text(world, "/d/clinic/answers")


EQUIVALENT = [
    ("MeanTest", {"column": "cost", "equals": 500, "margin": 100}),
    ("MeansTest", {"column": "cost", "by": "ward", "groups": ["heart", "lung"], "margin": 100}),
    ("PairedTest", {"first": "age", "second": "cost", "margin": 100}),
    ("Proportion", {"condition": "age > 50", "within": [0.4, 0.6]}),
    ("TwoProportions", {"condition": "age > 50", "by": "ward", "groups": ["heart", "lung"], "within": [-0.1, 0.1]}),
]


@pytest.mark.parametrize(("kind", "given"), EQUIVALENT)
def test_a_form_has_the_fields_of_equivalence_and_they_are_planned(
    world: Served, kind: str, given: dict[str, Any]
) -> None:
    form = text(world, f"/d/clinic/explore/test?table=visits&kind={kind}")
    named = set(re.findall(r'name="hypothesis\.(\w+)"', form))
    assert {*given} <= named
    body = {"table": "visits", "hypothesis": {"kind": kind, **given}, "epsilon": 0.1}
    assert world.call("{d}/plan/test", body).status == 200


def test_hypotheses_with_a_margin_or_bounds_are_all_among_these() -> None:
    having = {one for one in TESTS for field in fields(getattr(study, one)) if field.name in ("margin", "within")}
    assert having == {kind for kind, _ in EQUIVALENT}


def test_a_log_in_with_a_wrong_token_says_what_to_do_on_a_page(world: Served) -> None:
    reply = world.call("/v1/login", {"token": "privet_wrong"}, who=None)
    assert reply.status == 401
    assert "copy all of it" in reply.json["error"]["message"]
    assert "Bearer" not in reply.json["error"]["message"]


def test_the_log_in_says_whom_it_is_for(world: Served) -> None:
    assert "For custodians and auditors" in text(world, "/login", who=None, custodian=True)
    assert "your privacy budget" in text(world, "/login", who=None)


def test_every_hypothesis_of_the_package_is_in_the_list_of_forms() -> None:
    assert set(TESTS) == {*study.__all__} - {"Family", "Hypothesis"}


def test_a_choice_shows_what_was_chosen_and_no_score(world: Served) -> None:
    body = {"options": ["heart", "lung"], "score": "SELECT COUNT(*) FROM visits WHERE ward = :option", "epsilon": 0.5}
    found = world.ask(body, operation="choose").json
    page = text(world, f"/a/{found['id']}")
    assert found["result"]["chosen"] in page
    assert "The scores are not released" in page


def test_questions_and_answers_are_kept_under_names_of_ones_own(world: Served, answered: str) -> None:
    saved = world.call("{d}/saved", {"name": "yearly <i>", "question": COUNT})
    assert saved.status == 201
    assert world.call("{d}/saved", {"name": "the answer", "answer": answered}).status == 201
    assert world.call("{d}/saved", {"name": "theirs", "answer": answered}, who="ben").status == 404
    assert [one["name"] for one in world.call("{d}/saved").json["saved"]] == ["the answer", "yearly <i>"]
    assert world.call("{d}/saved", who="ben").json["saved"] == []
    page = text(world, "/d/clinic/answers")
    assert "yearly &lt;i&gt;" in page
    assert "<h1>the answer</h1>" in text(world, f"/a/{answered}")
    replaced = world.call("{d}/saved", {"name": "yearly <i>", "question": "SELECT COUNT(*) AS n FROM staff"}).json
    assert replaced["id"] == saved.json["id"]
    for wrong in ({"name": "x"}, {"name": "x", "question": "a", "answer": answered}, {"name": " x", "question": "a"}):
        assert world.call("{d}/saved", wrong).status == 400
    assert world.call("{d}/saved", {"name": "x", "question": 5}).status == 400
    number = saved.json["id"]
    assert world.call(f"{{d}}/saved/{number}/remove", {}, who="ben").status == 404
    assert world.call(f"{{d}}/saved/{number}/remove", {}).status == 200
    assert world.call(f"{{d}}/saved/{number}/remove", {}).status == 404
    assert [one["name"] for one in world.call("{d}/saved").json["saved"]] == ["the answer"]


def test_an_address_that_leads_nowhere_is_a_page_for_people_and_json_for_programs(world: Served) -> None:
    page = world.call("/nowhere", headers={"Accept": "text/html"})
    assert (page.status, b"there is no such page" in page.body) == (404, True)
    assert b"Log out" in page.body
    assert world.call("/nowhere").code == "access.not_found"
    assert world.call("/v1/nowhere", headers={"Accept": "text/html"}).code == "access.not_found"
    assert b"Overview" in world.call("/d/nowhere", who="carol", custodian=True).body


def test_spending_is_shown_over_time_by_account_and_by_block(tmp_path: Path) -> None:
    blocks = 'version = "2025"\nblock = { column = "age", edges = [0, 18, 65, 111] }\n'
    config = write_world(tmp_path, declared=DECLARED.replace('version = "2025"\n', blocks, 1))
    with served(tmp_path, config=config) as world:
        assert "Nothing was asked yet" in text(world, "/d/clinic", who="carol", custodian=True)
        old = "SELECT COUNT(*) AS n FROM visits WHERE age >= 65"
        plan = text(world, "/d/clinic/plan", {"question": old, "epsilon": "15"})
        assert "does not cover" not in plan
        world.ask({"question": old, "epsilon": 15})
        young = {"question": "SELECT COUNT(*) AS n FROM visits WHERE age < 18", "epsilon": "15"}
        told = text(world, "/d/clinic/plan", young)  # about other people, whose budget is whole
        assert "does not cover" not in told
        assert "<dt>Left now</dt><dd>epsilon 20</dd>" in told
        assert "<dt>Left afterwards</dt><dd>epsilon 5</dd>" in told
        assert "does not cover" in text(world, "/d/clinic/plan", {"question": old + " AND sex = 'f'", "epsilon": "15"})
        page = text(world, "/d/clinic", who="carol", custodian=True)
        assert "By block of visits" in page
        assert 'aria-label="Spent in 65 to 111: 37.5%"' in page
        assert "ana" in page


def test_spending_on_several_days_is_a_line_for_each_name() -> None:
    paid = [(f"who {n}", f"2026-01-0{day}", 1.0) for n in range(9) for day in (1, 3)]
    drawn = _drawn(paid, "by <b>")
    assert drawn.count("<polyline") == 6
    assert 'points=""' not in drawn
    assert "all others" in drawn
    assert "<b>" not in drawn
    assert "2026-01-03" in drawn


def test_older_releases_are_reached_whatever_is_written_after_them(
    world: Served, answered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custodian_pages, "_LATEST", 1)
    seen, address = [], "/d/clinic/releases"
    while True:
        page = text(world, address, who="carol", custodian=True)
        seen += re.findall(r"<summary><strong>(\d+)</strong>", page)
        older = re.search(r'href="(/d/clinic/releases\?before=\d+)"', page)
        if older is None:
            break
        address = older[1]
    charges = world.server.datasets["clinic"].ledger.history()
    assert [int(one) for one in seen] == [one.number for one in reversed(charges)]
    assert "Costs epsilon" in page


def test_set_up_is_for_the_custodian_alone(world: Served) -> None:
    assert world.call("/set-up", who="otto", custodian=True).status == 403
    assert world.call("/set-up", who="carol").status == 404
    assert "Paste the schema" in text(world, "/set-up", who="carol", custodian=True)


def test_a_chart_escapes_its_labels_and_holds_infinite_ends() -> None:
    points = [ChartPoint("<b>&", 3.0, float("-inf"), float("inf")), ChartPoint("c", float("nan"), 0, 1)]
    drawn = draw_chart(points, title='"><script>')
    assert "<b>" not in drawn
    assert "<script>" not in drawn
    assert "inf" not in drawn
    assert draw_chart([], title="none") == ""


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-5, 3), (0, 1e9), (0, 1e-9), (-1e-3, 0)])
def test_ticks_are_few_and_lie_between_the_ends(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-12 <= one <= high * (1 + 1e-9) + 1e-12 for one in found)
