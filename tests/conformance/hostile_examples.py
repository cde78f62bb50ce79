"""Arguments that work, by the name of a parameter, by its type, or, where neither does, for one callable.

A name here stands for the same thing throughout Privet, so a new function that uses the vocabulary needs no line. No
line says what is tried on a parameter: every parameter there is, is tried.
"""

from __future__ import annotations

import atexit
import datetime
import functools
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas

import privet
from postgres_server import as_owner, ledger_or_skip
from privet import accounting, dbapi, local, strategy, stream, survey
from privet.accounting import Filter, FinitePairEvent, open_filter
from privet.answer import Answer, CrossTab
from privet.audit import Counts, Moved, Report
from privet.config import Analyst, Config, Rules, read_config
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.division import Touched
from privet.core.estimate import Estimate
from privet.core.event import Event, Receipt
from privet.core.ports import Engine, Ledger
from privet.core.schema import ColumnFacts, Contents, Contribution, Schema
from privet.core.unit import Link, Nobody, Person, Rows, Window
from privet.dbapi.connection import Connection, Cursor
from privet.engines.duckdb.engine import DuckDB
from privet.execution.counting import MarginalsPlan, RangesPlan
from privet.execution.rolling import RollingReport
from privet.execution.running_history import RunningPlan
from privet.inference.finding import Finding
from privet.ledger.memory import MemoryLedger
from privet.ledger.postgres import PostgresLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.mechanisms import LaplaceEvent, Local, Mechanism, PowerTail, Ranking, RecursiveQuantiles, SampledSensitivity
from privet.planner.batch import Batch
from privet.planner.measurements import Measurements
from privet.planner.plan import Plan
from privet.query.frame import Frame, Result
from privet.query.nodes import PrivateRows
from privet.query.terms import Term
from privet.results.released_counts import CountTable, Marginals
from privet.results.released_ranges import Ranges
from privet.results.released_totals import RunningTotals, TotalsTable
from privet.session import Session
from privet.stream.durable import RunningStream
from privet.stream.w_event_kept import StreamLedger
from privet.study.hypothesis import Hypothesis, TestPlan
from privet.study.regression import RegressionPlan
from privet.study.regression_table import Regression
from served import Served, served

Make = Callable[[], Any]

_memory = Path("/dev/shm")
PLACE = Path(tempfile.mkdtemp(prefix="privet-hostile-", dir=_memory if _memory.is_dir() else None))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)

LATER = datetime.datetime(2090, 1, 1, tzinfo=datetime.UTC)
BUDGET = Approximate(epsilon=10**9, delta=Fraction(1, 10**3))
EVENT = LaplaceEvent(sensitivity=1, scale=1)
QUESTION = "SELECT COUNT(*) AS n FROM visits"
CROSSED = "SELECT ward, CASE WHEN age > 50 THEN 'y' ELSE 'n' END AS old, COUNT(*) AS n FROM visits GROUP BY ward, old"
COLUMNS = {
    "patient": privet.integer(),
    "age": privet.integer(0, 100),
    "ward": privet.category(["A", "B"]),
    "day": privet.date(datetime.date(2025, 1, 1), datetime.date(2025, 12, 31)),
    "note": privet.text(),
}
ROWS = pandas.DataFrame(
    {
        "patient": [1, 1, 2, 3],
        "age": [30, 31, 40, 50],
        "ward": ["A", "B", "A", "B"],
        "day": [datetime.date(2025, 1, day) for day in (1, 2, 3, 4)],
        "note": ["a", "b", "c", "d"],
    }
)
TOML = """
[budget]
epsilon = 1000000
delta = 0.001

[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = { groups = 1, rows = 1 }

[tables.visits.columns]
patient = "integer"
age = { kind = "integer", low = 0, high = 100 }
ward = { values = ["A", "B"] }

[analysts.alice]
epsilon = 1000
"""

_numbers = itertools.count()


def fresh(suffix: str) -> Path:
    """Return a path at which nothing is."""
    return PLACE / f"{os.getpid()}-{next(_numbers)}{suffix}"


def table() -> privet.Table:
    """Return a small table of visits."""
    return privet.Table(ROWS, unit=Person("patient"), columns=COLUMNS, contribution=Contribution(groups=2, rows=2))


@functools.cache
def session() -> Session:
    """Return a session over the visits whose budget no trial exhausts."""
    return Session({"visits": table()}, budget=BUDGET)


def _begun(made: Any) -> Any:
    made.charge(EVENT, "digest", account="ana", key="same")
    made.open_account("failed", BUDGET)
    for number in range(3):
        made.fail(made.charge(EVENT, f"failed {number}", account="failed"))
    return made


@functools.cache
def _ledgers(process: int) -> dict[str, Any]:
    """Return the ledgers of a process, which a fork does not share."""
    return {}


def _unchanged(kind: str, make: Make) -> Any:
    """Return a ledger of a kind, the same until a trial has changed it."""
    held = _ledgers(os.getpid())
    if kind not in held or len(held[kind].entries()) != _AT_FIRST:
        held[kind] = _begun(make())
    return held[kind]


_AT_FIRST = 10
"""How many entries a ledger begins with here: rules, two accounts, four charges and three failures."""


def ledger() -> MemoryLedger:
    """Return a ledger in memory with charges, and an account that is frozen."""
    return _unchanged("memory", lambda: MemoryLedger(BUDGET, analysts={"ana": BUDGET}))  # type: ignore[no-any-return]


def sqlite() -> SqliteLedger:
    """Return a ledger in a file with charges, and an account that is frozen."""
    return _unchanged("sqlite", lambda: SqliteLedger(fresh(".ledger"), BUDGET, analysts={"ana": BUDGET}))  # type: ignore[no-any-return]


def postgres() -> PostgresLedger:
    """Return a ledger in PostgreSQL with charges, and an account that is frozen; skip where there is no server."""
    return _unchanged("postgres", lambda: PostgresLedger(ledger_or_skip(), BUDGET, analysts={"ana": BUDGET}))  # type: ignore[no-any-return]


@functools.cache
def _adopted() -> tuple[str, str]:
    """Return the address and the head of a ledger in PostgreSQL, which is adopted again and again."""
    address = ledger_or_skip()
    with PostgresLedger(address, BUDGET) as made:
        return address, made.head()


_SCHEMAS = itertools.count()


def receipt() -> Receipt:
    """Return the receipt of the charge that every ledger here begins with."""
    return ledger().charge(EVENT, "digest", account="ana", key="same")


@functools.cache
def config() -> Config:
    """Return a privet.toml, read."""
    return read_config(toml())


@functools.cache
def server() -> Served:
    """Return a server that runs until the tests end."""
    running = served(PLACE / "clinic")
    atexit.register(running.__exit__, None, None, None)
    return running.__enter__()


@functools.cache
def toml() -> Path:
    """Return the path of a privet.toml whose table exists."""
    ROWS.to_csv(PLACE / "visits.csv", index=False)
    (PLACE / "privet.toml").write_text(TOML)
    return PLACE / "privet.toml"


@functools.cache
def local_server() -> local.Server:
    """Return a server that has counted three reports."""
    survey = local.KaryResponse(2, epsilon=1)
    server = survey.server()
    server.add(survey.client.reports([0, 1, 1]))
    return server


def memo() -> Path:
    """Return the file of a memo."""
    path = fresh(".memo")
    local.Memo(local.KaryResponse(2, epsilon=1), path)
    return path


@functools.cache
def local_mean() -> local.MeanEstimate:
    """Return a mean that was estimated from three reports."""
    oracle = local.DuchiMean(0, 1, epsilon=1)
    server = oracle.server()
    server.add(oracle.client.reports([0, 1, 1]))
    found: local.MeanEstimate = server.estimate()
    return found


@functools.cache
def local_places() -> local.PlanarLaplace:
    """Return a survey of places."""
    return local.PlanarLaplace((0, 0, 900, 900), radius=100, epsilon=1)


@functools.cache
def local_distribution() -> local.EstimatedDistribution:
    """Return a distribution that was estimated from three reports."""
    oracle = local.SquareWave(0, 9, bins=3, epsilon=4)
    server = oracle.server()
    server.add(oracle.client.reports([0, 1, 1]))
    found: local.EstimatedDistribution = server.estimate()
    return found


def asked() -> survey.Survey:
    """Return a survey of one question."""
    return survey.Survey("s", [survey.SurveyQuestion("q", "What?", ["no", "yes"], epsilon=1)])


def collected() -> survey.SurveyFolder:
    """Return the folder of a survey with one report."""
    made = survey.SurveyFolder.create(fresh(".survey"), asked())
    made.add(survey.Respondent(made.survey).respond("yes"))
    return made


def counted() -> survey.ResponseCounts:
    """Return what 30 people reported."""
    return survey.ResponseCounts(local.KaryResponse.two_coins(), {"yes": 12, "no": 18})


def paired() -> survey.PairedCounts:
    """Return what 30 people reported twice."""
    return survey.PairedCounts(local.KaryResponse.two_coins(), both=8, first=4, second=13, neither=5)


def report() -> Report:
    """Return an audit's report."""
    return privet.audit.audit(privet.Laplace(sensitivity=1, epsilon=1), (10, 11), 1, 2000)


def released_result() -> Result:
    """Return a released table."""
    return session().table("visits").group_by("ward").agg(n=privet.count())


@functools.cache
def plan() -> Plan:
    """Return a plan of the session."""
    return session().plan(QUESTION, epsilon=1)


ESTIMATE = Estimate(value=0.5, low=0.4, high=0.6, confidence=0.95, standard_error=0.05, covers="population")


def calls() -> Session:
    """Return a session over calls that are divided by month."""
    days = [datetime.date(2025, 1, 1) + datetime.timedelta(days=number) for number in range(90)]
    blocks = privet.Blocks("day", length="1 month", origin="2025-01-01", through="2025-03-31")
    columns = {"day": privet.date("2025-01-01", "2025-12-31")}
    made = privet.Table(pandas.DataFrame({"day": days}), unit=Rows(), columns=columns, blocks=blocks)
    return Session({"calls": made}, budget=BUDGET)


def report_of_calls() -> RollingReport:
    """Return a rolling report over them."""
    return calls().rolling("SELECT COUNT(*) AS n FROM calls", last=2, epsilon=1)


def hypothesis() -> Hypothesis:
    """Return a hypothesis about the visits."""
    return privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5})


def running() -> RunningStream:
    """Return a stream with two steps behind it."""
    made = stream.open_stream(fresh(".stream"), MemoryLedger(BUDGET), horizon=2**20, epsilon=1)
    made.extend([1, 2])
    return made


def mechanism() -> Mechanism:
    """Return a mechanism."""
    return privet.Laplace(sensitivity=1, epsilon=1)


def _planned_with_a_basis() -> Any:
    asked = strategy.marginals((3,), [(0,)], factors={0: strategy.prefixes(3)})
    return strategy.plan_residuals(asked)


def _value(made: Any) -> Make:
    return lambda: made


INSTANCES: dict[type, Make] = {
    Event: _value(EVENT),
    FinitePairEvent: lambda: FinitePairEvent((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4))),
    Filter: lambda: open_filter(BUDGET),
    Pure: lambda: Pure(epsilon=1),
    Approximate: _value(BUDGET),
    Zcdp: lambda: Zcdp(rho=1),
    Mechanism: mechanism,
    Local: lambda: Local(5, [1, 1, 1]),
    PowerTail: PowerTail,
    privet.Quantile: lambda: privet.Quantile(q=0.5, low=0, high=10, epsilon=1, step=1),
    RecursiveQuantiles: lambda: RecursiveQuantiles(quantiles=[0.25, 0.75], low=0, high=10, epsilon=1, step=1),
    SampledSensitivity: lambda: SampledSensitivity(value=Fraction(1), gamma=Fraction(1, 10), samples=100, norm="sum"),
    Ranking: lambda: Ranking((0, 1), (1.0, 2.0)),
    Counts: lambda: Counts(600, 100, 1000),
    Report: report,
    Session: session,
    Plan: plan,
    Batch: lambda: session().plan_all([QUESTION, "SELECT SUM(age) AS s FROM visits"], epsilon=1),
    Answer: lambda: session().ask(QUESTION, epsilon=1),
    CrossTab: lambda: session().ask(CROSSED, epsilon=1).pivot("ward", "old", "n"),
    Marginals: lambda: session().marginals("visits", ["ward"], epsilon=1),
    Ranges: lambda: session().ranges("visits", "age", epsilon=1),
    RangesPlan: lambda: session().plan_ranges("visits", "age", epsilon=1),
    MarginalsPlan: lambda: session().plan_marginals("visits", ["ward"], epsilon=1),
    Hypothesis: hypothesis,
    RollingReport: report_of_calls,
    privet.Blocks: lambda: privet.Blocks("ward"),
    Touched: lambda: Touched("visits", "visits by ward", "rows", 1, ((0, 1),)),
    Finding: lambda: Finding(name="A share", p_value=0.5, estimates={"share": ESTIMATE}),
    RegressionPlan: lambda: session().plan_regress("visits", "age ~ ward", epsilon=1),
    Regression: lambda: session().regress("visits", "age ~ ward", epsilon=1),
    privet.study.Family: lambda: privet.study.Family((privet.study.Proportion("age > 50", equals=0.5),)),
    TestPlan: lambda: session().plan_test("visits", hypothesis(), epsilon=1),
    RunningTotals: lambda: session().running("visits", "day", epsilon=1),
    RunningPlan: lambda: session().plan_running("visits", "day", epsilon=1),
    TotalsTable: lambda: session().running("visits", "day", epsilon=1).totals(),
    CountTable: lambda: session().marginals("visits", ["ward"], epsilon=1).counts("ward"),
    Measurements: lambda: session().ask(QUESTION, epsilon=1).measurements(),
    Frame: lambda: session().table("visits"),
    Result: released_result,
    Term: lambda: privet.col("age"),
    ColumnFacts: lambda: privet.integer(0, 100),
    Schema: lambda: table().schema,
    Contents: lambda: Contents(lambda: [(1, 2)]),
    privet.Table: table,
    Contribution: lambda: Contribution(groups=2, rows=2),
    Rows: Rows,
    Person: lambda: Person("patient"),
    Link: lambda: Link("visit", "visits", "id"),
    Nobody: Nobody,
    Window: lambda: Window("patient", "day", 7),  # type: ignore[arg-type]
    Ledger: ledger,
    MemoryLedger: ledger,
    SqliteLedger: sqlite,
    PostgresLedger: postgres,
    Receipt: receipt,
    Engine: lambda: DuckDB({"visits": table()}),
    Config: config,
    Rules: lambda: Rules(budget=BUDGET),
    strategy.Workload: lambda: strategy.matrix([[1, 0, 1], [0, 1, 1]]),
    strategy.RangeWorkload: lambda: strategy.ranges(3, [(0, 1), (1, 2)]),
    strategy.MatrixWorkload: lambda: strategy.matrix([[1, 0, 1], [0, 1, 1]]),
    strategy.ProductWorkload: lambda: strategy.product(strategy.prefixes(3)),
    strategy.UnionWorkload: lambda: strategy.union([strategy.prefixes(3), strategy.identity(3)]),
    strategy.MarginalWorkload: lambda: strategy.marginals((3,), [(0,)]),
    strategy.CellCovariance: lambda: strategy.identity_strategy(3, measure="pure").unit_covariance(),
    strategy.Strategy: lambda: strategy.identity_strategy(3, measure="pure"),
    strategy.MatrixStrategy: lambda: strategy.identity_strategy(3, measure="pure"),
    strategy.TreeStrategy: lambda: strategy.tree(3, branching=3, measure="pure"),
    strategy.SpectralStrategy: lambda: strategy.spectral(strategy.all_ranges(3)),
    strategy.ProductStrategy: lambda: strategy.ProductStrategy((strategy.identity_strategy(3, measure="pure"),)),
    strategy.UnionStrategy: lambda: strategy.UnionStrategy((strategy.identity_strategy(3, measure="pure"),), (1,)),
    strategy.MarginalStrategy: lambda: strategy.MarginalStrategy("pure", (3,), ((0,),), (1,)),
    strategy.CentredBasis: lambda: _planned_with_a_basis().bases[0],
    strategy.ResidualStrategy: lambda: strategy.plan_residuals(strategy.marginals((3,), [(0,)])),
    strategy.StrategyMeasure: lambda: strategy.StrategyMeasure(
        strategy.identity_strategy(3, measure="pure"), epsilon=1, neighbors="change-one"
    ),
    strategy.Candidate: lambda: strategy.Candidate("identity", 1.0),
    accounting.Shuffled: lambda: accounting.Shuffled(accounting.PureEvent(1), 5),
    local.Randomizer: lambda: local.KaryResponse(2, epsilon=1),
    local.FrequencyOracle: lambda: local.KaryResponse(2, epsilon=1),
    local.OptimizedHashing: lambda: local.OptimizedHashing(2, epsilon=1),
    local.SubsetSelection: lambda: local.SubsetSelection(2, epsilon=1),
    local.Rappor: lambda: local.Rappor(2),
    local.Memo: lambda: local.Memo(local.KaryResponse(2, epsilon=1)),
    local.Shuffler: lambda: local.Shuffler(local.KaryResponse(2, epsilon=1), minimum=2),
    local.Trust: lambda: local.Trust(local.KaryResponse(2, epsilon=1), 20, delta=1e-6),
    survey.Survey: asked,
    survey.SurveyQuestion: lambda: asked().questions[0],
    survey.SurveyFolder: collected,
    survey.Respondent: lambda: survey.Respondent(asked()),
    survey.Receiver: lambda: survey.Receiver(survey.SurveyFolder.create(fresh(".survey"), asked())),
    survey.Reply: lambda: survey.Reply(404, "text/plain", b"not found"),
    survey.ResponseCounts: counted,
    survey.PairedCounts: paired,
    survey.Difference: lambda: survey.compare(counted(), counted(), "yes"),
    local.Client: lambda: local.KaryResponse(2, epsilon=1).client,
    local.Server: local_server,
    local.Reports: lambda: local.KaryResponse(2, epsilon=1).client.reports([0, 1, 1]),
    local.Frequencies: lambda: local_server().estimate(),
    local.MeanOracle: lambda: local.DuchiMean(0, 9, epsilon=1),
    local.PiecewiseMean: lambda: local.PiecewiseMean(0, 9, epsilon=1),
    local.HybridMean: lambda: local.HybridMean(0, 9, epsilon=1),
    local.MeanEstimate: local_mean,
    local.HierarchicalHistogram: lambda: local.HierarchicalHistogram(0, 9, bins=4, epsilon=1),
    local.SquareWave: lambda: local.SquareWave(0, 9, bins=4, epsilon=1),
    local.EstimatedDistribution: local_distribution,
    local.AttributeSurvey: lambda: local.AttributeSurvey({"a": 2, "b": (0, 1)}, epsilon=1),
    local.MarginalSurvey: lambda: local.MarginalSurvey({"a": 2, "b": 3}, epsilon=1),
    local.PlanarLaplace: lambda: local_places(),
    local.MapProjection: lambda: local.MapProjection(52.3, 13.1, 52.7, 13.8),
    local.MetricPromise: lambda: local.MetricPromise(rate=0.01, step=10),
    local.ShuffledCount: lambda: local.ShuffledCount(epsilon=1, delta=0.001, people=50),
    local.CountEstimate: lambda: local.CountEstimate(5, 3, 7, 1.0, 10, 0.95, {}),
    local.CountMeanSketch: lambda: local.CountMeanSketch(epsilon=1, tables=2),
    local.HeavyHitters: lambda: local.HeavyHitters(epsilon=1, length=3),
    local.ChosenOracle: lambda: local.best(4, epsilon=1, n=100),
    strategy.EstimatedCells: lambda: strategy.EstimatedCells([1.0, 2.0, 3.0], (3,), "by hand"),
    strategy.PartitionTree: lambda: strategy.PartitionTree((3,), epsilon=1, neighbors="change-one"),
    strategy.MultiplicativeWeights: lambda: strategy.MultiplicativeWeights(
        strategy.prefixes(3), epsilon=1, neighbors="change-one", rounds=2
    ),
    stream.WEvent: lambda: stream.WEvent(epsilon=1, window=3),
    stream.WEventPlan: lambda: stream.WEventPlan(stream.WEvent(epsilon=1, window=3), cells=3),
    stream.WEventStream: lambda: stream.WEventStream(epsilon=1, window=3, cells=3),
    StreamLedger: ledger,
    stream.WEventRelease: lambda: stream.WEventStream(epsilon=1, window=3, cells=3).step([1, 2, 3]),
    stream.TreeSums: lambda: stream.TreeSums(horizon=8, spend=Zcdp(rho=1)),
    stream.RootSums: lambda: stream.RootSums(horizon=8, spend=Zcdp(rho=1)),
    stream.BufferedSums: lambda: stream.BufferedSums(horizon=8, spend=Zcdp(rho=1)),
    RunningStream: running,
    stream.StepClock: lambda: _STEP_CLOCK,
    Connection: lambda: dbapi.connect(session()),
    Cursor: lambda: dbapi.connect(session()).cursor().execute(QUESTION, epsilon=1),
}
"""An instance of each type that is not made by calling its class with the examples below."""

_STEP_CLOCK = stream.StepClock(LATER, datetime.timedelta(hours=1))


def _stepping(make: Make, *, opened: bool) -> Any:
    """Return a ledger in which the steps of the first charge have begun, and are open if that is asked for."""
    made = _begun(make())
    paid = receipt()
    made.begin_steps(paid, state="0" * 64)
    if opened:
        made.open_steps(paid, after=0, upto=1, state="0" * 64)
    return made


def _windows() -> Any:
    made = stream.open_w_event(MemoryLedger(BUDGET), "hourly", epsilon=1, window=3, cells=3)
    made.extend([[1, 2, 3]] * 3)
    return made


def _memory_ledger() -> MemoryLedger:
    return MemoryLedger(BUDGET, analysts={"ana": BUDGET})


def _file_ledger() -> SqliteLedger:
    return SqliteLedger(fresh(".ledger"), BUDGET, analysts={"ana": BUDGET})


OWNERS: dict[str, Make] = {
    "privet.Session.rolling": calls,
    "privet.query.frame.Frame.partition": lambda: calls().table("calls"),
    "privet.SqliteLedger.open_steps": lambda: _stepping(_file_ledger, opened=False),
    "privet.SqliteLedger.draw_steps": lambda: _stepping(_file_ledger, opened=False),
    "privet.ledger.memory.MemoryLedger.draw_steps": lambda: _stepping(_memory_ledger, opened=False),
    "privet.SqliteLedger.close_steps": lambda: _stepping(_file_ledger, opened=True),
    "privet.ledger.memory.MemoryLedger.open_steps": lambda: _stepping(_memory_ledger, opened=False),
    "privet.ledger.memory.MemoryLedger.close_steps": lambda: _stepping(_memory_ledger, opened=True),
    "privet.stream.durable.RunningStream.step_at": lambda: stream.open_stream(
        fresh(".stream"), MemoryLedger(BUDGET), horizon=8, epsilon=1, clock=_STEP_CLOCK
    ),
    "privet.stream.w_event_kept.KeptWEventStream.step_at": lambda: stream.open_w_event(
        MemoryLedger(BUDGET), "hourly", epsilon=1, window=3, cells=3, clock=_STEP_CLOCK
    ),
    "privet.stream.w_event_kept.KeptWEventStream.release": _windows,
    "privet.query.terms.Term.bounded": lambda: privet.sum("age"),
    "privet.answer.Answer.pivot": lambda: session().ask(CROSSED, epsilon=1),
}
"""An instance for a method that not every instance of its class has a use for."""

_ONE: dict[str, Make] = {
    name: _value(value)
    for name, value in {
        "about": ("visits",),
        "account": "ana",
        "alarm": 1e-6,
        "algorithm": "uniform",
        "alpha": 0.25,
        "amount": Fraction(1),
        "analyst": "alice",
        "answer": 1,
        "answered": 3,
        "answers": [0, 1, 1],
        "at_distance": [1, 2, 3],
        "at_most": 5,
        "backward": True,
        "batched": False,
        "best": 1,
        "beta": 0.1,
        "bids": [1, 2, 3],
        "bins": 4,
        "bits": 10,
        "blocks": 4,
        "buckets": 2,
        "bytes": 4,
        "blur": Fraction(1, 2**30),
        "bound": "norm",
        "bounds": np.array([3, 4]),
        "categories": 3,
        "change": 2,
        "claimed": 1,
        "claims": ((1.0, 0.0),),
        "close": lambda: None,
        "clock": lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        "column": "patient",
        "confidence": 0.9,
        "count": 3,
        "counts": [5, 6, 7],
        "covers": "the mean",
        "curve": lambda order: order / 2,
        "degrees": 3,
        "delta": 1e-6,
        "deltas": [0.0, 0.1],
        "digest": "digest",
        "digits": 1,
        "distances": 3,
        "division": "visits by ward",
        "domain": [0, 1],
        "epsilon": 1,
        "escape": "!",
        "estimates": (1.0,),
        "estimator": lambda rows: float(np.mean(rows)),
        "expires": LATER,
        "facts": {"a": 1},
        "fraction": 0.1,
        "frequency": 0.2,
        "flipped": False,
        "found": 1.0,
        "function": lambda value: 1,
        "gamma": 0.5,
        "gap": 1.0,
        "gaps": (1.0,),
        "grid": "fine",
        "group": 2,
        "groups": 2,
        "halted": True,
        "head": None,
        "high": 10,
        "hits": 5,
        "holds": True,
        "how": "inner",
        "index": 0,
        "indices": (0,),
        "inputs": [0, 1],
        "k": 2,
        "key": "patient",
        "keys": 2,
        "keys_share": 0.5,
        "kind": "number",
        "l1": 1,
        "l2_squared": 1,
        "labels": [0, 1, 1],
        "largest_epsilon": 1.0,
        "last": 2,
        "law": "exponential",
        "least": 0,
        "length": 7,
        "limit": 2,
        "line": 1,
        "loss": 0.5,
        "low": 0,
        "matrix": [[0.75, 0.25], [0.25, 0.75]],
        "mean": 5,
        "measure": "epsilon",
        "measured": [5.0, 6.0],
        "measuring": 0.5,
        "memory_limit": "1GB",
        "message": "wrong",
        "monotone": True,
        "moved": 1.0,
        "mu": 1,
        "mus": [1, 2],
        "n": 5,
        "name": "age",
        "neighbors": "change-one",
        "neighbours": (10, 11),
        "norm": "sum",
        "nullable": True,
        "number": 1,
        "of": "age",
        "offset": 1,
        "on": "patient",
        "one": 3,
        "order": 2.0,
        "orders": (2.0, 3.0),
        "origin": datetime.date(2025, 1, 1),
        "other": 2,
        "otherwise": 0,
        "p": 0.75,
        "p_value": 0.5,
        "parameter": "value",
        "people": 5,
        "person": "patient",
        "place": 3,
        "points": ((0.1, 0.2),),
        "post": [[0.75, 0.25], [0.25, 0.75]],
        "power": 2,
        "prices": [1, 2],
        "prior": 0.3,
        "probability": 0.5,
        "pure": Fraction(0),
        "q": 0.5,
        "quantiles": [0.25, 0.75],
        "queries": 3,
        "question": QUESTION,
        "questions": [QUESTION],
        "rate": Fraction(1, 2),
        "parameters": [],
        "rates": (0.3, 0.5),
        "reason": "because",
        "relative": 1e-3,
        "released": 3,
        "reports": [0, 1, 1],
        "rho": 0.5,
        "rows": 100,
        "samples": 1000,
        "scale": Fraction(2),
        "scans": 2,
        "schema": "main",
        "score": "SELECT COUNT(*) FROM visits WHERE age > :option",
        "scores": [1, 2, 3],
        "sensitivity": 1,
        "sensitivity_squared": 1,
        "share": 0.5,
        "signed": True,
        "formula": "age ~ ward",
        "intervals": True,
        "ridge": 0.5,
        "hypothesis": privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5}),
        "shares": [0.25, 0.75],
        "sigma": 2,
        "sigma_squared": 2,
        "size": 3,
        "sizes": np.array([2, 3]),
        "slack": Fraction(0),
        "smoothing": Fraction(1, 2),
        "source": "visits.csv",
        "sql": QUESTION,
        "standard_error": 1.0,
        "start": 1.0,
        "statistic": 1.0,
        "step": 1,
        "steps": 2,
        "sums": (Fraction(0), Fraction(0)),
        "table": "visits",
        "tables": ("visits",),
        "testing": 0.5,
        "text": "a plan",
        "threads": 2,
        "threshold": 5,
        "thresholds": [1, 2],
        "time": "day",
        "timeout": 10,
        "time_step": Fraction(1, 1000),
        "times": 3,
        "title": "a title",
        "to": "visits",
        "tolerance": 1e-3,
        "tosses": 10,
        "trials": 1000,
        "survey": "pets",
        "truth": 0.5,
        "units": 2,
        "value": 3,
        "values": [1, 2, 3],
        "variance": 2,
        "version": "2025-03",
        "versions": {"visits": "1"},
        "via": "visit",
        "views": {"old": "SELECT patient, age FROM visits WHERE age > 60"},
        "weights": [1],
        "what": "a count",
        "width": 2,
        "widths": np.array([3, 4]),
        "winners": 2,
        "within": 50,
        "witness": "above 3",
        "whole": True,
        "worlds": 1,
        "x": 0.5,
        "yes": 0.5,
    }.items()
} | {
    "analysts": lambda: {"ana": BUDGET},
    "aggregate": lambda: privet.Quantile(q=0.5, low=0, high=10, epsilon=1, neighbors="change-one"),
    "by": lambda: privet.Exponential,
    "columns": lambda: COLUMNS,
    "condition": lambda: privet.col("age") > 1,
    "conditions": lambda: privet.col("age") > 1,
    "draw": lambda: lambda value, count: privet.Laplace(sensitivity=1, epsilon=1).simulate(value, count),
    "events": lambda: [EVENT, EVENT],
    "key_file": lambda: PLACE / "fingerprint.key",
    "lines": lambda: list(ledger_lines()),
    "make": lambda: lambda scale: LaplaceEvent(sensitivity=1, scale=scale),
    "more": lambda: "noise",
    "most": lambda: 5,
    "most_rows": lambda: 10,
    "moves": lambda: (Moved("a", "L1", 1.0, 1.0, 1, True),),
    "named": lambda: privet.col("age"),
    "others": lambda: session().table("visits"),
    "pairs": lambda: ((0.0, 1.0),),
    "path": lambda: fresh(".ledger"),
    "per_query": lambda: BUDGET,
    "unit": lambda: Person("patient"),
    "where": lambda: privet.col("age") > 1,
}

DATE, NEXT_DATE = datetime.date(2025, 1, 1), datetime.date(2025, 2, 1)
STAMP, NEXT_STAMP = datetime.datetime(2025, 1, 1), datetime.datetime(2025, 2, 1)
HALVES, QUARTERS = (Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4))
NUMBERS = (1, 2, 30, 4)

_OTHERS: dict[str, tuple[Make, ...]] = {
    "analysts": (lambda: {"ana": Analyst(budget=BUDGET, tables=("visits",))},),
    "account": (lambda: f"account {next(_numbers)}", lambda: "failed"),
    "bound": (lambda: 2,),
    "budget": (lambda: BUDGET,),
    "columns": (lambda: "old",),
    "count": (lambda: 1,),
    "covers": (lambda: "noise", lambda: "reports"),
    "limit": (lambda: "auto",),
    "what": (lambda: "bounding",),
    "counts": (lambda: [1] * 11, lambda: np.ones(11, dtype=np.int64)),
    "draw": (lambda: lambda count: list(range(count)), lambda: lambda progress, text: "secret"),
    "events": (lambda: (EVENT, EVENT), lambda: EVENT),
    "gaps": (lambda: np.array([1, 2]), lambda: np.array([1, 2, 3, 4, 5])),
    "head": (lambda: sqlite().head(), lambda: ledger().head()),
    "high": (lambda: NEXT_DATE, lambda: NEXT_STAMP, lambda: np.ones(3)),
    "index": (lambda: "ward",),
    "indices": (lambda: (0, 1),),
    "key": (lambda: f"key {next(_numbers)}",),
    "lines": (lambda: [survey.Respondent(asked()).respond("yes")],),
    "line": (lambda: survey.Respondent(asked()).respond("yes"),),
    "answer": (lambda: "yes",),
    "answers": (lambda: ["no", "yes"],),
    "before": (counted,),
    "collected": (lambda: survey.SurveyFolder.create(fresh(".survey"), asked()),),
    "folder": (lambda: fresh(".survey"), lambda: collected().folder),
    "respondent": (lambda: "0" * 32,),
    "supports": (lambda: {1: 3, 0: 4},),
    "resource": (lambda: "survey.json",),
    "share_before": (lambda: (0.5, 0.4, 0.6),),
    "share_after": (lambda: (0.5, 0.4, 0.6),),
    "half_width": (lambda: 0.1,),
    "shares": (
        lambda: {"yes": 1},
        lambda: np.full(3, 1 / 3),
    ),
    "both": (lambda: 3,),
    "second": (lambda: 3, lambda: "q"),
    "neither": (lambda: 3,),
    "server": (local_server,),
    "headers": (dict,),
    "body": (lambda: b"{}",),
    "status": (lambda: 200,),
    "content_type": (lambda: "text/plain",),
    "same_people": (lambda: True,),
    "text": (lambda: asked().to_json(),),
    "survey": (asked,),
    "epsilon": (lambda: Fraction(1, 2),),
    "event": (lambda: 1,),
    "of": (lambda: 1, lambda: privet.col("age"), lambda: None),
    "question": (lambda: "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", lambda: "q"),
    "low": (lambda: DATE, lambda: STAMP, lambda: np.zeros(3)),
    "make": (lambda: lambda scale: privet.Laplace(sensitivity=1, scale=scale),),
    "more": (lambda: 0.1, lambda: privet.col("age")),
    "name": (lambda: "visits", lambda: "n", lambda: "q"),
    "neighbors": (lambda: [(0, 1)],),
    "norm": (lambda: "max", lambda: "L1"),
    "number": (lambda: 2, lambda: 3),
    "other": (
        lambda: local.KaryResponse(2, epsilon=1).server(),
        lambda: privet.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]]),
        lambda: privet.col("age"),
        lambda: privet.col("age") > 1,
        lambda: "other",
    ),
    "options": (lambda: 3, lambda: 10, lambda: [20, 40]),
    "mechanism": (lambda: "exponential",),
    "parameters": (lambda: None,),
    "p": (lambda: HALVES,),
    "points": (lambda: 8,),
    "pairs": (lambda: (FinitePairEvent(HALVES, QUARTERS),), paired),
    "part": (lambda: "a", lambda: "year"),
    "path": (lambda: fresh(".png"), toml, memo),
    "pattern": (lambda: "a%",),
    "place": (lambda: (0, 0), lambda: 0),
    "size": (lambda: 300, lambda: 1),
    "prefix": (lambda: "a",),
    "q": (lambda: QUARTERS,),
    "queries": (lambda: NUMBERS,),
    "released": (lambda: [50.0, 60.0],),
    "report": (report,),
    "rows": (
        lambda: [*NUMBERS, *NUMBERS],
        lambda: 1,
        lambda: [("ana", 1)],
        lambda: [stream.Arrival(1)],
        lambda: [[stream.Arrival(1)]],
    ),
    "sensitivity": (lambda: SampledSensitivity(value=Fraction(1), gamma=Fraction(1, 10), samples=100, norm="max"),),
    "sets": (lambda: ["ward"],),
    "source": (lambda: ROWS,),
    "tables": (lambda: 4, lambda: {"visits": table()}, lambda: {"visits": table().schema}),
    "terms": (lambda: "n",),
    "unnamed": (lambda: privet.count(),),
    "value": (lambda: [1, 0, 2], lambda: NUMBERS, lambda: Local(5, [1, 1, 1])),
    "values": (lambda: [*NUMBERS, *NUMBERS], lambda: (5.0,), lambda: "n", lambda: True, lambda: 3),
    "variances": (lambda: {(0,): 1.0, (0, 1): 2.0}, *(lambda many=many: [1.0] * many for many in (3, 2, 4))),
    "sizes": (lambda: {0: 2, 1: 3}, lambda: np.array([1, 1])),
    "views": (lambda: {"old": PrivateRows.of("visits", table().schema)},),
    "where": (lambda: privet.col("patient") > 1,),
    "kept": (lambda: "secret",),
    "questions": (lambda: 3, lambda: asked().questions),
    "minimum": (lambda: 2,),
    "batch": (lambda: 5,),
    "wire": (lambda: local.KaryResponse(2, epsilon=1).client.report(1).to_bytes(),),
    "blanket": (lambda: (),),
    "bins": (lambda: 4,),
    "branching": (lambda: 4,),
    "box": (lambda: (0, 0, 900, 900),),
    "south": (lambda: 52.3,),
    "west": (lambda: 13.1,),
    "north": (lambda: 52.7,),
    "east": (lambda: 13.8,),
    "places": (lambda: (52.5, 13.4),),
    "radius": (lambda: 100,),
    "distance": (lambda: 100,),
    "people": (lambda: 50,),
    "attributes": (lambda: {"a": 2, "b": 3},),
    "edges": (lambda: np.array([0.0, 1.0, 2.0, 3.0]),),
    "unbiased": (lambda: np.full(3, 1 / 3),),
    "oracle": (lambda: local.KaryResponse(2, epsilon=1),),
    "candidates": (lambda: (local.KaryResponse(2, epsilon=1),),),
    "domain": (lambda: 3,),
    "ids": (lambda: np.zeros((1, 2), dtype=np.uint64),),
    "data": (lambda: np.zeros((1, 1), dtype=np.uint8),),
    "digest": (lambda: b"12345678",),
    "standard_errors": (lambda: np.ones(3),),
    "rejected": (lambda: {"repeated": 1},),
    "label": (lambda: 1,),
    "reports": (
        lambda: local.KaryResponse(2, epsilon=1).client.report(1),
        lambda: local_places().client.report((1, 1)),
        lambda: 3,
        lambda: (30, 30),
    ),
    "projected_to_simplex": (lambda: True,),
    "below": (lambda: True,),
    "cells": (lambda: 3, lambda: [1.0] * 6),
    "compared": (lambda: True,),
    "every": (lambda: 2, lambda: datetime.timedelta(hours=1)),
    "measured": (lambda: 1,),
    "offered": (lambda: 2,),
    "promise": (lambda: stream.WEvent(epsilon=1, window=3),),
    "steps": (lambda: [[1, 2, 3]], lambda: 5),
    "window": (lambda: 3,),
    "covariance": (
        lambda: np.eye(3),
        lambda: strategy.identity_strategy(3, measure="pure").unit_covariance(),
    ),
    "deviations": (lambda: np.ones(3),),
    "ends": (lambda: [(0, 1)],),
    "factors": (
        lambda: strategy.identity(3),
        lambda: (strategy.identity(3),),
        lambda: (INSTANCES[strategy.Strategy](),),
        lambda: (2**43, 2**42),
        lambda: {0: strategy.prefixes(3)},
    ),
    "bases": (lambda: (None, _planned_with_a_basis().bases[0]),),
    "highs": (lambda: np.array([1, 2]),),
    "lows": (lambda: np.array([0, 1]),),
    "matrix": (lambda: [[1, 0], [0, 1]],),
    "measure": (
        lambda: "pure",
        lambda: "gaussian",
    ),
    "integers": (lambda: [1, 2, 3],),
    "replays": (lambda: 2,),
    "rounds": (lambda: 2,),
    "splitting": (lambda: 0.4,),
    "noisy": (lambda: [3.0, 1.0, 2.0], lambda: [6.0, 3.0, 1.0, 2.0]),
    "parts": (lambda: [strategy.identity(3)], lambda: (INSTANCES[strategy.Strategy](),), lambda: 2),
    "plain": (lambda: np.ones(3),),
    "progress": (lambda: lambda line: None,),
    "rmse": (lambda: 1.0,),
    "shape": (lambda: (3, 2),),
    "spans": (lambda: (1,),),
    "strategy": (lambda: strategy.identity_strategy(3, measure="gaussian"),),
    "subsets": (lambda: ((0,),),),
    "total": (lambda: 5.0, lambda: 5),
    "vector": (lambda: [1, 2],),
    "weights": (lambda: [1, 1], lambda: [1, 1, 1], lambda: [1]),
    "ways": (lambda: 1,),
    "table": (lambda: (strategy.Candidate("identity", 1.0),),),
    "noise": (PowerTail,),
    "horizon": (lambda: 8,),
    "after": (lambda: 0, counted),
    "upto": (lambda: 1,),
    "opening": (lambda: _AT_FIRST + 2,),
    "state": (lambda: "0" * 64,),
    "spend": (lambda: Zcdp(rho=1), lambda: Pure(epsilon=1)),
    "entries": (lambda: 2,),
    "method": (
        lambda: "tree",
        lambda: "by hand",
        lambda: "sampling",
        lambda: "tree",
        lambda: "by hand",
        lambda: "two coins",
        lambda: "GET",
    ),
    "start": (lambda: LATER,),
    "rows_per_person": (lambda: 2,),
    "at": (lambda: 1,),
    "moment": (lambda: LATER,),
    "first": (lambda: 1, lambda: "q"),
    "last": (lambda: 1, lambda: True),
    "about": (lambda: "plan",),
    "person": (lambda: "p7",),
    "groups": (lambda: ["a", "b"],),
    "grid": (lambda: 1,),
}

NAMED: dict[str, tuple[Make, ...]] = {
    name: (*((_ONE[name],) if name in _ONE else ()), *_OTHERS.get(name, ())) for name in {**_ONE, **_OTHERS}
}
"""What a name stands for; where it stands for several things, each is tried."""

_MARGINALS: dict[str, Make] = {
    "columns": lambda: ["ward"],
    "subsets": lambda: [["ward"]],
    "weights": lambda: {"ward": 2},
    "ordered": lambda: {"age": "ranges"},
}
_RUNNING: dict[str, Make] = {"by": lambda: "day", "of": lambda: "age", "groups": lambda: ["ward"]}
OWN: dict[str, tuple[Make, ...]] = {
    **{
        f"Session.{method}.{name}": (make,) for method in ("running", "plan_running") for name, make in _RUNNING.items()
    },
    **{
        f"Session.{method}.{name}": (make,)
        for method in ("marginals", "plan_marginals")
        for name, make in _MARGINALS.items()
    },
    **{f"Session.{method}.columns": (lambda: ["ward"], lambda: ["age"]) for method in ("marginals", "plan_marginals")},
    "Marginals.count.rows": (lambda: {"ward": "A"},),
    **{f"Session.{method}.column": (lambda: "age",) for method in ("ranges", "plan_ranges")},
    "Ranges.plot.path": (lambda: fresh(".png"),),
    "Ranges.count.low": (lambda: 3,),
    "Ranges.count.high": (lambda: 30,),
    "Ranges.prefix.high": (lambda: 30,),
    **{f"Ranges.difference.{name}": (lambda: (3, 30),) for name in ("one", "other")},
    **{f"Marginals.difference.{name}": (lambda: {"ward": "A"},) for name in ("one", "other")},
    **{f"Session.{method}.norm": (lambda: 2, lambda: ("L1", 2)) for method in ("regress", "plan_regress")},
    "Regression.predict.rows": (lambda: {"ward": ["A"]},),
    **{
        f"{name}.url": (lambda: "postgresql://reader@db.example.org/hospital",)
        for name in ("config.EngineLimits", "privet.Postgres")
    },
    **{f"{name}.password_file": (lambda: Path("password"),) for name in ("config.EngineLimits", "privet.Postgres")},
    **{f"{name}.work_mem": (lambda: "64MB",) for name in ("config.EngineLimits", "privet.Postgres")},
    "config.EngineLimits.kind": (lambda: "spark",),
    "strategy.MarginalWorkload.factors": (lambda: (strategy.identity(2), strategy.identity(3)),),
    "sources.DeltaTable.path": (lambda: "lake/visits",),
    "sources.DeltaTable.version": (lambda: 3,),
    "sources.IcebergTable.metadata": (lambda: "lake/visits/metadata/v3.metadata.json",),
    "sources.IcebergTable.snapshot": (lambda: 3,),
    "spark.Spark.remote": (lambda: "sc://host",),
    "spark.Spark.session": (lambda: None,),
    "spark.SparkTable.name": (lambda: "lake.clinic.visits",),
    "spark.SparkTable.version": (lambda: 3,),
    **{
        f"{ledger}.note_act.{name}": (lambda example=example: example,)  # type: ignore[misc]
        for ledger in ("MemoryLedger", "SqliteLedger")
        for name, example in {"act": "log-in", "actor": "carol", "role": "custodian", "note": "by token"}.items()
    },
    "config.EngineLimits.remote": (lambda: "sc://host",),
    "privet.Blocks.column": (lambda: "ward",),
    "privet.Blocks.edges": (lambda: [0, 5, 9],),
    "privet.Blocks.length": (lambda: "1 month",),
    "privet.Blocks.origin": (lambda: "2025-01-01",),
    "privet.Blocks.through": (lambda: "2025-03-01",),
    "privet.Blocks.since": (lambda: "2025-02-01",),
    "privet.connect.url": (lambda: server().url,),
    "privet.connect.token": (lambda: server().tokens["ana"],),
    "privet.connect.dataset": (lambda: "clinic",),
    "dbapi.connect.source": (lambda: session(), lambda: toml()),
    "dbapi.connect.token": (lambda: None,),
    **{f"Cursor.{method}.operation": (lambda: QUESTION,) for method in ("plan", "execute")},
    **{f"Cursor.{method}.parameters": (list,) for method in ("plan", "execute")},
    **{f"Cursor.{method}.rho": (lambda: 1,) for method in ("plan", "execute")},
    "Cursor.setinputsizes.sizes": (lambda: [5],),
    "Cursor.setoutputsize.column": (lambda: 0,),
    **{f"dbapi.{name}FromTicks.ticks": (lambda: 60,) for name in ("Date", "Time", "Timestamp")},
    "Session.rolling.question": (lambda: "SELECT COUNT(*) AS n FROM calls",),
    "Session.rolling.last": (lambda: 2,),
    "SqliteLedger.charge.digest": (lambda: "another digest",),
    "privet.PostgresLedger.url": (ledger_or_skip,),
    "PostgresLedger.restore.url": (ledger_or_skip,),
    "PostgresLedger.set_up.url": (lambda: f"{as_owner(ledger_or_skip())}_{next(_SCHEMAS)}",),
    "PostgresLedger.set_up.role": (lambda: "privet_app",),
    "PostgresLedger.set_up_sql.url": (lambda: "postgresql://owner@db.example.org/hospital",),
    "PostgresLedger.set_up_sql.role": (lambda: "privet_app",),
    "PostgresLedger.adopt.url": (lambda: as_owner(_adopted()[0]),),
    "PostgresLedger.adopt.head": (lambda: _adopted()[1],),
    "config.LedgerPlace.url": (lambda: "postgresql://app@db.example.org/hospital",),
    "MemoryLedger.charge.digest": (lambda: "another digest",),
    "Frame.partition.column": (lambda: "day",),
    "RollingReport.total.column": (lambda: "n",),
    "RollingReport.__getitem__.name": (lambda: "n",),
    "RollingReport.plot.path": (lambda: fresh(".png"),),
    **{f"Answer.compare.{name}": (lambda: None,) for name in ("one", "other")},
    **{f"Answer.{method}.column": (lambda: "n",) for method in ("compare", "estimates")},
    **{f"Answer.{method}.covers": (lambda: "noise", lambda: "population") for method in ("compare", "estimates")},
    "Answer.compare.to": (lambda: session().ask("SELECT COUNT(*) AS n FROM visits WHERE age > 30", epsilon=1),),
    "Answer.compare.alternative": (lambda: "two-sided",),
    "Answer.compare.margin": (lambda: 5,),
    "study.GoodnessOfFit.column": (lambda: "ward",),
    **{f"study.{name}.margin": (lambda: 5,) for name in ("MeanTest", "MeansTest", "PairedTest")},
    **{f"study.{name}.alternative": (lambda: "two-sided",) for name in ("MeanTest", "MeansTest", "PairedTest")},
    "study.MeanTest.equals": (lambda: 40,),
    "study.MeansTest.by": (lambda: "ward",),
    "study.MeansTest.groups": (lambda: ("A", "B"),),
    "study.PairedTest.first": (lambda: "A",),
    "study.PairedTest.second": (lambda: "B",),
    "study.PairedTest.by": (lambda: "ward",),
    **{f"study.{name}.column": (lambda: "age",) for name in ("MeanTest", "MeansTest", "PairedTest")},
    "inference.adjusted_p_values.p_values": (lambda: [0.1, 0.2],),
    "inference.adjusted_p_values.method": (lambda: "holm",),
    **{f"{name}.shares": (lambda: None,) for name in ("inference.adjusted_p_values", "inference.judge_together")},
    "study.Family.shares": (lambda: None,),
    "Family.judge.findings": (lambda: [Finding(name="a test", p_value=0.5)],),
    "inference.judge_together.findings": (lambda: [Finding(name="a test", p_value=0.5)],),
    "inference.judge_together.method": (lambda: "holm",),
    "study.Family.hypotheses": (lambda: (privet.study.Proportion("age > 50", equals=0.5),),),
    "study.Family.method": (lambda: "holm",),
    "study.Family.weights": (lambda: None,),
    "Session.test_all.family": (lambda: privet.study.Family((privet.study.Proportion("age > 50", equals=0.5),)),),
    "inference.needed.equals": (lambda: 0.5,),
    "inference.needed.when": (lambda: 0.6,),
    "inference.needed.epsilon": (lambda: 1,),
    "inference.needed.people": (lambda: None,),
    "inference.needed.power": (lambda: 0.8,),
    "inference.proportion_power.equals": (lambda: 0.5,),
    "inference.proportion_power.when": (lambda: 0.6,),
    "inference.proportion_power.people": (lambda: 10,),
    "inference.proportion_test.released": (lambda: 3.5,),
    "inference.proportion_test.equals": (lambda: 0.5,),
    "inference.proportion_test.people": (lambda: 10,),
    "inference.proportion_test.within": (lambda: None,),
    "inference.two_proportions_test.released": (lambda: (3, 4),),
    "inference.two_proportions_test.people": (lambda: (10, 10),),
    "inference.two_proportions_test.equals": (lambda: 0,),
    "inference.two_proportions_test.within": (lambda: None,),
    "study.Proportion.condition": (lambda: "age > 50",),
    "study.Proportion.equals": (lambda: 0.5,),
    "study.Proportion.people": (lambda: 2,),
    "study.Proportion.within": (lambda: None,),
    "study.Proportion.delta": (lambda: 0.01,),
    "study.TwoProportions.condition": (lambda: "age > 50",),
    "study.TwoProportions.by": (lambda: "ward",),
    "study.TwoProportions.groups": (lambda: ("A", "B"),),
    "study.TwoProportions.equals": (lambda: 0,),
    "study.TwoProportions.people": (lambda: (1, 1),),
    "study.TwoProportions.within": (lambda: None,),
    "study.GoodnessOfFit.shares": (lambda: {"A": 0.5, "B": 0.5},),
    **{f"study.{name}.method": (lambda: "auto",) for name in ("GoodnessOfFit", "Independence", "EqualProportions")},
    "study.Independence.first": (lambda: "ward",),
    "study.Independence.second": (lambda: "age",),
    "study.EqualProportions.column": (lambda: "ward",),
    "study.EqualProportions.value": (lambda: "A",),
    "study.EqualProportions.by": (lambda: "age",),
    **{f"inference.{name}.method": (lambda: "auto",) for name in ("fit_test", "independence_test")},
    **{
        f"inference.{name}.noise": (lambda: privet.Laplace(sensitivity=1, epsilon=1),)
        for name in ("fit_test", "independence_test")
    },
    "study.SameRanks.column": (lambda: "age",),
    "study.SameRanks.by": (lambda: "ward",),
    "study.SameRanks.groups": (lambda: ("A", "B"),),
    "study.SameRanks.width": (lambda: 10,),
    "inference.rank_test.released": (lambda: [[30, 70], [40, 60]],),
    "inference.rank_test.noise": (lambda: privet.Laplace(sensitivity=1, epsilon=1),),
    "inference.fit_test.released": (lambda: [30, 70],),
    "inference.independence_test.released": (lambda: [[30, 70], [40, 60]],),
    **{
        f"strategy.CentredBasis.{name}": (lambda name=name: getattr(_planned_with_a_basis().bases[0], name),)
        for name in ("name", "measure", "matrix", "weights", "form")
    },
    "CentredBasis.rmse.workload": (lambda: strategy.matrix([[1, -1, 0]]),),
    "CentredBasis.solve.noisy": (lambda: [3.0, 1.0],),
    "CentredBasis.solve.variances": (lambda: [3.0, 1.0],),
    "strategy.spectral.workload": (lambda: strategy.all_ranges(3),),
    **{
        f"strategy.SpectralStrategy.{name}": (
            lambda name=name: getattr(strategy.spectral(strategy.all_ranges(3)), name),
        )
        for name in ("name", "measure", "matrix", "weights", "form", "kernel", "scales", "mirrored")
    },
    "plots.plot_p_values.p_values": (lambda: {"one": [0.2, 0.7]},),
    "plots.plot_power.powers": (lambda: {"one": [0.2, 0.7]},),
    "plots.plot_power.sizes": (lambda: [100, 1000],),
    **{f"Marginals.{method}.columns": (lambda: "ward",) for method in ("counts", "to_dict", "to_pandas", "plot")},
}
"""What a name stands for in one method alone."""

WORK = ("samples",)
"""Parameters that say how much work is done: they are always given, so that a trial is short."""

KEYWORDS = {"options": "timeout"}
"""A keyword to give where any are taken; `named` elsewhere."""

COMPANIONS: dict[str, tuple[Any, ...]] = {"when.more": (1,)}
"""What must follow an argument where any number are taken, and they belong together."""


def ledger_lines() -> list[str]:
    """Return a ledger as exported."""
    return list(sqlite().export())
