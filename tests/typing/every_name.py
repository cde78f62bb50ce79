"""A user's program that uses every public name, with the numbers that people write: ints, floats and fractions.

It runs, and type checkers find nothing wrong with it: `tests/unit/test_typing.py` holds it to both.
Nothing in it is annotated away: a public signature that is too narrow, or that takes anything at all, is seen here.
"""

from __future__ import annotations

import datetime
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import privet
from privet import accounting, audit, config, mechanisms, noise, plots
from privet.core.errors import BadParameter

HALF, THIRD = Fraction(1, 2), Decimal("0.3")
FOLDER = Path(tempfile.mkdtemp())
DAY = datetime.date(2024, 1, 1)


def budgets() -> list[privet.Pure | privet.Approximate | privet.Zcdp]:
    """Budgets are written with any numbers, and hold exact ones."""
    made: list[privet.Pure | privet.Approximate | privet.Zcdp] = [
        privet.Pure(epsilon=1),
        privet.Pure(epsilon=0.5),
        privet.Pure(epsilon=HALF),
        privet.Approximate(epsilon=3, delta=1e-6),
        privet.Approximate(epsilon=THIRD, delta=Fraction(1, 10**6)),
        privet.Zcdp(rho=0.5),
    ]
    exact: Fraction = privet.Pure(epsilon=0.5).epsilon
    print(exact, [budget.describe() for budget in made])
    return made


def tables() -> dict[str, privet.Table]:
    """Tables of every unit, and columns of every kind."""
    rows, people = range(300), range(100)
    visits = pa.table(
        {
            "patient": [row % 100 for row in rows],
            "visit": list(rows),
            "ward": ["AB"[row % 2] for row in rows],
            "cost": [float(row % 50) for row in rows],
            "age": [20 + row % 60 for row in rows],
            "day": [DAY + datetime.timedelta(days=row) for row in rows],
            "seen": [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=row) for row in rows],
            "urgent": [row % 3 == 0 for row in rows],
            "note": ["flu" if row % 4 else "cold" for row in rows],
        }
    )
    columns = {
        "patient": privet.integer(),
        "visit": privet.integer(),
        "ward": privet.category(["A", "B"]),
        "cost": privet.number(0, 50.5, step=Fraction(1, 2)),
        "age": privet.integer(0, 110, nullable=True),
        "day": privet.date(DAY, datetime.date(2024, 12, 31)),
        "seen": privet.timestamp(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31)),
        "urgent": privet.boolean(),
        "note": privet.text(nullable=False),
    }
    typical = privet.Contribution(groups=2, rows=3)
    person = privet.Person("patient")
    drugs = pa.table({"visit": list(rows), "drug": ["abc"[row % 3] for row in rows]})
    wards = pa.table({"ward": ["A", "B"], "floor": [1, 2]})
    staff = pa.table({"pay": [1000.0 + row for row in people]})
    return {
        "visits": privet.Table(visits, unit=person, columns=columns, contribution=typical, rows=1000, version="1"),
        "weekly": privet.Table(
            visits,
            unit=privet.Window("patient", "day", 7),
            columns=columns,
            contribution=privet.Contribution(groups=1, rows=1),
        ),
        "hourly": privet.Table(
            visits,
            unit=privet.Window("patient", "seen", datetime.timedelta(hours=6), origin=DAY),
            columns=columns,
            contribution=privet.Contribution(groups=1, rows=1),
        ),
        "drugs": privet.Table(
            drugs,
            unit=privet.Link("visit", to="visits", column="visit"),
            columns={"visit": privet.integer(), "drug": privet.category(["a", "b", "c"])},
            contribution=privet.Contribution(groups=1, rows=1),
        ),
        "wards": privet.PublicTable(
            wards, columns={"ward": privet.category(["A", "B"]), "floor": privet.category([1, 2])}, key="ward"
        ),
        "staff": privet.Table(
            staff,
            unit=privet.Rows(group=2),
            columns={"pay": privet.number(0, 2000)},
            neighbors="change-one",
            units=100,
        ),
    }


def ask() -> None:
    """Ask in SQL, and look at the answer in every form."""
    with privet.Session(tables(), budget=privet.Approximate(epsilon=200, delta=1e-6), time_step=0.001) as session:
        plan = session.plan("SELECT ward, AVG(cost) AS cost FROM visits GROUP BY ward", epsilon=0.5)
        text: str = plan.explain()
        price = plan.to_dict()["cost"]["epsilon"]
        answer = session.run(plan, confidence=0.9)
        for row in answer:
            print(row["ward"], row["cost"], row["cost_low"], row["cost_high"], len(text), price)
        series = answer["cost"]
        values: tuple[object, ...] = tuple(series.values)
        print(len(answer), values, series.low, series.high, answer.to_dict(), answer.to_json(), answer.certificate())
        print(answer.to_arrow(), answer.to_pandas(), answer.to_polars(), answer.notes, answer.receipt.entry)
        one = session.ask("SELECT COUNT(*) FROM staff", epsilon=HALF, confidence=0.99, key="monday")
        low, high = one.interval
        print(low <= one.value <= high, one.estimate.standard_error)
        session.ask("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=THIRD, bound="groups")
        session.ask("SELECT COUNT(*) AS n FROM visits", within=25, confidence=0.95)
        session.ask("SELECT COUNT(*) AS n, AVG(cost) AS c FROM visits", within={"n": 50, "c": "50%"}, at_most=2.5)
        session.ask("SELECT note, COUNT(*) FROM visits GROUP BY note", epsilon=2, other="rest")
        session.ask("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=2, find_groups=True)
        batch = session.plan_all(["SELECT COUNT(*) FROM visits", "SELECT MODE(ward) FROM weekly"], epsilon=1.5)
        first, second = session.run_all(batch)
        print(batch.cost(), batch.explain(), first.value, second.value)
        session.ask_all(["SELECT COUNT(*) FROM hourly", "SELECT SUM(cost) FROM visits"], epsilon=1, weights=[2, 1])
        print(session.clipping("SELECT AVG(cost) FROM visits", epsilon=1).to_dict())
        print(session.choose([20, 40], "SELECT COUNT(*) FROM visits WHERE cost > :option", epsilon=HALF).value)
        opened = session.above(1000, limit=2, epsilon=HALF, values=True, table="visits")
        print(opened.ask("SELECT COUNT(*) FROM visits").above, opened.left, opened.closed)
        marginals = session.marginals("visits", ["ward", "age"], ways=2, epsilon=1, weights={("ward", "age"): 2})
        print(marginals.counts("ward")["n"].values, marginals.to_pandas(), marginals.plot("ward"), marginals.digest)
        totals = session.running("visits", by="day", of="cost", groups=["ward"], epsilon=1).totals(confidence=0.9)
        print(totals["cost"].values, totals.to_pandas(), totals.plot(), session.plan_running("visits", by="day").error)
        print(session.plan_marginals("visits", ["ward"], epsilon=HALF, subsets=[["ward"]]).errors)
        ages = session.ranges("visits", "age", epsilon=1, bins=20)
        print(ages.count(18, 64).value, ages.prefix(17).low, ages.quantile(0.5).value, ages.histogram(10), ages.plot())
        print(session.plan_ranges("visits", "age", epsilon=HALF).errors)
        left: float = session.remaining().largest_epsilon
        print(left, session.history()[0].account, session.account, session.ledger.budget_of())


def build() -> None:
    """Build questions step by step."""
    with privet.Session(tables(), budget=privet.Zcdp(rho=100)) as session:
        visits = session.table("visits")
        old = (privet.col("age") > 65) & ~privet.col("urgent") | (privet.col("cost") / 2 + 1 <= 7.5)
        band = privet.when(privet.col("age") < 30, "young", privet.col("age") < 60, "middle", otherwise="old")
        result = (
            visits.where(old, privet.col("note").is_in(["flu", "cold"]))
            .group_by("ward", band=band)
            .agg(
                n=privet.count(),
                rows=privet.count("age", where=privet.col("cost") > 3),
                people=privet.count_units(),
                notes=privet.count_distinct("note"),
                total=privet.sum("cost"),
                cost=privet.mean(privet.col("cost").clip(0, 40)),
                var=privet.var("cost"),
                std=privet.std("cost"),
                covar=privet.covar("cost", "age"),
                corr=privet.corr("cost", "age"),
            )
            .having(privet.col("n") > 1)
            .order_by(privet.col("n").desc(), "ward")
            .limit(3, offset=0)
        )
        print(session.ask(result, rho=0.5))
        chosen = visits.agg(
            middle=privet.median("cost"),
            ninth=privet.quantile("cost", 0.9),
            least=privet.smallest("age"),
            most=privet.largest("age"),
            usual=privet.mode("ward"),
            common=privet.top_k("ward", 2),
        )
        print(session.ask(chosen, rho=HALF))
        print(session.ask(visits.rollup("ward").agg(n=privet.count(), total=privet.grouping("ward")), rho=1))
        print(session.ask(visits.agg(privet.histogram("cost", 5)), rho=0.25))
        print(session.ask(visits.agg(range=privet.bounds("cost")), rho=0.25))
        joined = visits.join(session.table("drugs"), "visit").join(session.table("wards"), {"ward": "ward"})
        print(session.ask(joined.group_by("drug", "floor").agg(n=privet.count()).within(30), at_most=1))
        each = visits.per_unit(n=privet.count()).agg(n=privet.mean(privet.col("n").clip(0, 9)))
        print(session.ask(each, rho=0.125))


def keep_a_ledger() -> None:
    """Keep a ledger in a folder, declare a hospital in a file, practise on it, and read tables from a database."""
    with privet.SqliteLedger(
        FOLDER / "ledger",
        privet.Approximate(epsilon=10, delta=1e-6),
        analysts={"ana": privet.Pure(epsilon=4)},
        per_query=privet.Approximate(epsilon=2, delta=1e-6),
        keys_share=0.25,
        timeout=2.5,
    ) as ledger:
        with privet.Session(tables(), ledger=ledger, account="ana", about=["visits"]) as session:
            session.ask("SELECT COUNT(*) FROM visits", epsilon=1)
        ledger.top_up(privet.Pure(epsilon=1), reason="a second study", account="ana")
        ledger.verify()
        print(ledger.head(), ledger.remaining("ana").largest_epsilon, [one.spent for one in ledger.balances()])
        print(ledger.certificate(ledger.history()[0].number)["cost"], next(ledger.export())[:9])
    print(privet.PostgresLedger.set_up_sql("postgresql://owner@db.example.org/hospital", role="privet_app")[:5])
    print(privet.Postgres("postgresql://reader@db.example.org/hospital"), privet.PostgresTable("clinic.visits").table)
    print(privet.dbapi.apilevel)
    (FOLDER / "visits.csv").write_text("patient,age\n1,30\n2,40\n")
    file = FOLDER / "privet.toml"
    file.write_text(
        '[budget]\nepsilon = 10\ndelta = 1e-6\n[ledger]\npath = "toml-ledger"\n[tables.visits]\nsource = "visits.csv"\n'
        'unit = "patient"\ncontribution = { groups = 1, rows = 1 }\n[tables.visits.columns]\npatient = "integer"\n'
        'age = { kind = "integer", low = 0, high = 120 }\n'
    )
    read: config.Config = config.read_config(file)
    rules: config.Rules = read.rules
    place: config.LedgerPlace = read.ledger
    limits: config.EngineLimits = read.engine
    analysts: dict[str, config.Analyst] = dict(read.analysts)
    print(rules.budget, place.path, limits.memory_limit, analysts, list(read.tables))
    try:
        config.read_config(str(FOLDER / "absent.toml"))
    except config.BadConfig as wrong:
        print([problem["line"] for problem in wrong.problems])
    except privet.RequestError as missing:
        print(missing.code)
    print(config.BadConfig("privet.toml", [config.Problem(3, "budget", "say what may be spent")]))
    with privet.open(file) as session:
        print(session.ask("SELECT COUNT(*) FROM visits", epsilon=1).value)
    with privet.practice(file) as session:
        print(session.ask("SELECT COUNT(*) FROM visits", epsilon=0.5).value)
    source = privet.DatabaseTable(FOLDER / "hospital.duckdb", "visits")
    print(source)


def refuse() -> None:
    """Errors have codes and fields."""
    try:
        privet.Pure(epsilon=-1)
    except BadParameter as error:
        print(error.parameter, error.to_dict())
    try:
        with privet.connect("https://127.0.0.1:9", token="privet_none", dataset="visits") as far:
            print(far.account)
    except privet.AccessError as unknown:
        print(unknown.http_status)
    except privet.Busy as busy:
        print(busy.retry_after)
    except privet.PrivetError as error:
        print(error.code)
    with privet.Session(tables(), budget=privet.Pure(epsilon=1)) as session:
        try:
            session.ask("SELECT COUNT(*) FROM visits", epsilon=5)
        except privet.BudgetExceeded as refused:
            print(refused.largest_epsilon + 1, refused.measure)
        except privet.BudgetError as refused:
            print(refused.code)
        except privet.PrivetError as wrong:
            status: int = wrong.exit_status
            print(status)


def release() -> None:
    """Every mechanism that `privet` itself has."""
    count = privet.Laplace(sensitivity=1, epsilon=0.5)
    released = count.release(1874)
    low, high = count.interval(released, confidence=0.95)
    print(low, high, count.error(), count.variance, count.simulate(3, 2), privet.Laplace(sensitivity=2.5, scale=HALF))
    law: mechanisms.NoiseLaw = count.law(3, whole=True)
    print(law.pmf(0), law.cdf([0, 1]), law.quantile(0.9), law.mean, law.variance, law.deviation, law.sample(2))
    laws = (mechanisms.DiscreteLaplace(scale=2, step=HALF), mechanisms.DiscreteGaussian(sigma_squared=4, finer=8))
    print([one.to_dict() for one in laws], isinstance(count, mechanisms.AdditiveNoise), count.pmf(1), count.sample())
    vector = privet.Laplace(
        sensitivity=privet.Sensitivity(l1=2, l2_squared=2, neighbors="change-one"), epsilon=1, grid="whole"
    )
    print(vector.release([1, 2, 3]), vector.release(np.array([1, 2, 3])))
    normal = privet.Gaussian(sensitivity=1, epsilon=1, delta=1e-6)
    print(normal.sigma, privet.Gaussian(sensitivity=1, rho=0.5).release(3), privet.Gaussian(sensitivity=1, sigma=2.5))
    print(privet.analytic_gaussian_sigma(1, 1e-6, 2.5))
    scores = [3, 1, 2.5]
    print(privet.Exponential(sensitivity=1, epsilon=1).release(scores))
    print(privet.PermuteAndFlip(sensitivity=1, epsilon=HALF, monotone=True).release(scores))
    print(privet.NoisyMax(sensitivity=1, rate=0.5, law="gumbel").release(scores))
    print(privet.TopK(k=2, sensitivity=1, epsilon=1, delta=1e-6).release(scores))
    print(privet.TopKWithGaps(k=2, sensitivity=1, epsilon=1).release(scores).gaps)
    alarm = privet.AboveThreshold(threshold=500, sensitivity=1, epsilon=1)
    print(alarm.release([12, 7000, 3]).first, alarm.accuracy(1000, 0.05))
    print(privet.Sparse(threshold=500.5, limit=2, sensitivity=1, epsilon=1, share=0.5).release([1, 900]).indices)
    print(privet.NumericSparse(threshold=500, limit=2, sensitivity=1, epsilon=1).release([1, 900]).values)
    coin = privet.RandomizedResponse(p=0.75)
    print(coin.release(1), privet.RandomizedResponse(epsilon=1, categories=["a", "b", "c"]).release("a"))
    matrix = privet.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]])
    print(matrix.epsilon, matrix.delta(0.5))
    ages = [30, 40, 50.5]
    print(privet.Quantile(q=0.5, low=0, high=120, epsilon=1, step=1).release(ages))
    print(privet.Quantiles(quantiles=[0.25, 0.75], low=0, high=120, epsilon=HALF).release(ages))
    for keys in (
        privet.OptimalKeys(epsilon=1, delta=1e-6),
        privet.LaplaceThreshold(epsilon=1, delta=1e-6, keys=2),
        privet.GaussianThreshold(epsilon=0.5, delta=1e-6, keys=3, neighbors="change-one"),
    ):
        print(keys.release({"flu": 900, "cold": 2}), keys.people(), keys.probability(50))
    enumerated = privet.sensitivity_by_enumeration(len, [0, 1], 3, neighbors="add-remove")
    print(enumerated.l1 + 1)


def release_more() -> None:
    """Every other name of `privet.mechanisms`."""
    ages = np.linspace(20, 80, 200)
    listed: tuple[type[mechanisms.Mechanism], ...] = mechanisms.MECHANISMS
    print(len(listed))
    print(mechanisms.Average(low=0, high=120, epsilon=1).release(ages))
    print(mechanisms.RecursiveQuantiles(quantiles=[0.1, 0.5, 0.9], low=0, high=120, epsilon=1).release(ages))
    print(mechanisms.quantile(ages, 0.5, 0, 120, 1.0), mechanisms.quantiles(ages, [0.25, 0.75], 0, 120, 1))
    tails = (mechanisms.PowerTail(4), mechanisms.StudentTail(3), mechanisms.LaplaceTail(1e-6))
    for tail in tails:
        print(mechanisms.SmoothQuantile(q=0.5, low=0, high=120, epsilon=1, noise=tail).release(ages))
    local = mechanisms.local_quantile(ages, 0.5, 0, 120, distances=50)
    print(mechanisms.SmoothSensitivity(low=0, high=120, epsilon=1).release(local))
    print(mechanisms.ProposeTestRelease(bound=0.5, epsilon=1, delta=1e-6).release(mechanisms.Local(50.0, [3.0, 4.0])))
    print(mechanisms.smooth_bound([1.0, 2.0], Fraction(1, 10), most=9.0))
    middle = mechanisms.Quantile(q=0.5, low=0, high=120, epsilon=1, neighbors="change-one")
    print(mechanisms.SampleAggregate(estimator=np.mean, blocks=5, aggregate=middle).release(ages))
    sampled: mechanisms.SampledSensitivity = mechanisms.sample_sensitivity(
        np.mean, np.random.default_rng(1).random, size=20, gamma=0.25
    )
    promise: mechanisms.RandomPrivacy = mechanisms.RandomlyPrivate.laplace(sampled, epsilon=1).promise
    print(promise.gamma)
    mapped: mechanisms.Mapped = mechanisms.Laplace(sensitivity=1, epsilon=1).map(abs)
    print(mechanisms.Tulap(epsilon=1, delta=1e-6).release(3).denominator)
    print(mapped.release(3), isinstance(mechanisms.OptimalKeys(epsilon=1, delta=1e-6), mechanisms.KeySelection))
    crossings: mechanisms.Crossings = mechanisms.Sparse(threshold=5, limit=2, sensitivity=1, epsilon=1).release([9, 1])
    above: list[mechanisms.Above | None] = list(crossings.above)
    ranking: mechanisms.Ranking = mechanisms.TopKWithGaps(k=1, sensitivity=1, epsilon=1).release([1, 9])
    print(above, ranking.indices)
    bids, labels = [1, 2, 3], [False, True, True]
    print(
        mechanisms.best_price(bids, [1, 2], 1.0), mechanisms.revenues(bids, [1, 2]), mechanisms.evenly(0, 1, options=3)
    )
    print(mechanisms.best_threshold(bids, labels, [1, 2], 1), mechanisms.correct_counts(bids, labels, [1, 2]))
    print(mechanisms.analytic_gaussian_sigma(1, 1e-6))
    same = (
        mechanisms.AboveThreshold is privet.AboveThreshold,
        mechanisms.Exponential is privet.Exponential,
        mechanisms.FiniteMechanism is privet.FiniteMechanism,
        mechanisms.Gaussian is privet.Gaussian,
        mechanisms.GaussianThreshold is privet.GaussianThreshold,
        mechanisms.LaplaceThreshold is privet.LaplaceThreshold,
        mechanisms.NoisyMax is privet.NoisyMax,
        mechanisms.NumericSparse is privet.NumericSparse,
        mechanisms.PermuteAndFlip is privet.PermuteAndFlip,
        mechanisms.Quantiles is privet.Quantiles,
        mechanisms.RandomizedResponse is privet.RandomizedResponse,
        mechanisms.TopK is privet.TopK,
        privet.core.__name__ == "privet.core",
        privet.mechanisms is mechanisms and privet.accounting is accounting and privet.noise is noise,
        privet.strategy.total(3).queries == 1,
        privet.local.KaryResponse(2, epsilon=1).width == 1,
        privet.stream.TreeSums(horizon=4, spend=privet.Pure(epsilon=1)).deviation(4) > 0,
        privet.stream.Arrival(2, group="a").value == 2,
        privet.Blocks("day", length="1 month", origin="2025-01-01").timed,
        privet.survey.sample_size(privet.local.KaryResponse.two_coins(), 0.1) > 0,
        privet.study.GoodnessOfFit("ward", {"A": 0.5, "B": 0.5}).column == "ward",
        privet.study.Independence("ward", "age").first == "ward",
        privet.study.SameRanks("age", by="ward", groups=("A", "B"), width=10).by == "ward",
        privet.inference.rank_test([[9, 1], [1, 9]], noise=privet.Laplace(sensitivity=1, epsilon=1)).p_value is None,
        privet.study.EqualProportions("ward", "A", by="age", method="projected").by == "age",
        privet.inference.fit_test([50, 50], [0.5, 0.5], noise=privet.Laplace(sensitivity=1, epsilon=1)).degrees == 1,
        privet.inference.independence_test(
            [[50, 50], [5, 5]], noise=privet.Laplace(sensitivity=1, epsilon=1), method="naive"
        ).p_value
        is None,
        privet.study.MeanTest("age", equals=40, alternative="less").column == "age",
        privet.study.MeansTest("age", by="ward", groups=("A", "B"), margin=2).by == "ward",
        privet.study.PairedTest("after", "before", column="pressure", by="period").first == "after",
        privet.study.Proportion("age > 50", equals=0.5).condition,
        privet.study.TwoProportions("age > 50", by="ward", groups=("A", "B")).by,
        privet.study.Family((privet.study.Proportion("age > 50", equals=0.5),)).method,
        privet.inference.adjusted_p_values([0.1, 0.2]),
        privet.inference.fit_of_noisy_total([50, 50], [0.5, 0.5], variance=2).p_value == 1,
    )
    print(all(same))


def account() -> None:
    """Every name of `privet.accounting`, on events of every kind."""
    pair = accounting.FinitePairEvent((HALF, HALF), (Fraction(1, 4), Fraction(3, 4)))
    events: list[accounting.Event] = [
        accounting.PureEvent(HALF),
        accounting.PureEvent(0.5),
        accounting.ApproximateEvent(1, 1e-7),
        accounting.ZcdpEvent(0.125),
        pair,
        mechanisms.FiniteEvent((pair,)),
        mechanisms.LaplaceEvent(sensitivity=1, scale=2),
        mechanisms.DiscreteLaplaceEvent(steps=1, scale=2.5),
        mechanisms.GaussianEvent(sensitivity_squared=1, sigma_squared=4),
        mechanisms.DiscreteGaussianEvent(steps=1, sigma_squared=4),
        mechanisms.ExponentialEvent(epsilon=1),
        mechanisms.ResponseEvent(p=0.75),
    ]
    laplace, normal = mechanisms.LaplaceEvent(sensitivity=1, scale=2), mechanisms.Gaussian(sensitivity=1, sigma=4).event
    several = accounting.Composed((laplace, normal))
    derived: list[accounting.Event] = [
        accounting.Repeated(laplace, 10),
        accounting.Group(laplace, 2),
        accounting.Sampled(normal, Fraction(1, 100)),
        accounting.Sampled(normal, 0.01),
        accounting.Shuffled(accounting.PureEvent(1), 100),
        accounting.ThresholdEvent(laplace, 1e-8),
        accounting.Parallel((laplace, laplace), "add-remove"),
        accounting.parallel([laplace, laplace], neighbors="change-one"),
    ]
    for event in (*events, *derived):
        print(accounting.epsilon(event, 1e-5), event.pure(), event.rho(), event.slack())
    print(accounting.delta(several, 1), accounting.rdp(normal, 2), accounting.basic(several, 1e-6))
    many = accounting.Repeated(accounting.PureEvent(Fraction(1, 10)), 20)
    print(accounting.advanced(many, 1e-6), accounting.advanced_kov(many, 1e-6), accounting.optimal(many, 1e-6))
    print(accounting.optimal_delta(many, 1), accounting.optimal_bounds(many, 1e-6), accounting.by_theorem(many, 1e-6))
    print(accounting.epsilon_bounds(normal, 1e-6), accounting.delta_bounds(normal, 0.5))
    print(accounting.gaussian_mu(1, 1e-6), accounting.gaussian_delta(1, 0.5), accounting.gaussian_epsilon(1e-6, 0.5))
    print(accounting.compose_mu([0.3, 0.4]), accounting.analytic_gaussian_sigma(1, 1e-6))
    print(accounting.rho_from(1, 1e-6), accounting.rho_delta(0.1, 1), accounting.rho_epsilon(0.1, 1e-6))
    print(accounting.rdp_epsilon(lambda order: order / 8, 1e-6), accounting.rdp_delta(lambda order: order / 8, 1))
    scale: float = accounting.calibrate(
        lambda scale: mechanisms.Laplace(sensitivity=1, scale=scale), privet.Approximate(epsilon=1, delta=1e-6), times=9
    )
    theorems = accounting.calibrate_by_theorem(lambda scale: mechanisms.Laplace(sensitivity=1, scale=scale), 1, 1e-6)
    print(scale, theorems, accounting.fits(laplace, privet.Pure(epsilon=0.5)))
    gate: accounting.Filter = accounting.open_filter(privet.Approximate(epsilon=1, delta=1e-6), keys_share=0.5)
    left: accounting.Remaining = gate.spend(laplace).remaining()
    meter: accounting.Odometer = accounting.open_odometer(1e-6).spend(laplace)
    print(left.largest_epsilon, meter.epsilon())
    loss = accounting.privacy_loss(normal)
    curve = accounting.tradeoff(normal)
    print(loss, curve, accounting.loss_distribution(normal).delta(1.0), accounting.region(1, 1e-6))
    print(accounting.best_accuracy(normal), accounting.posterior(0.1, 1), accounting.in_words(1, 1e-6))


def draw() -> None:
    """Every name of `privet.noise`."""
    print(
        noise.discrete_laplace(2.5), noise.discrete_laplace(HALF, 3), noise.discrete_gaussian(4, 3), noise.geometric(2)
    )
    print(
        noise.bernoulli(0.5),
        noise.bernoulli_rows(0.5, 2, 8),
        noise.bernoulli_exp(1, 3),
        noise.uniform_below(6),
        noise.fair_heads(10),
    )
    scores, ones = [1, 2, 3], np.ones(3, dtype=np.int64)
    print(noise.noisy_max(scores, 1, law="gumbel"), noise.noisy_top(scores, 0.5, law="gumbel", winners=2))
    print(noise.noisy_top_with_gaps(scores, 1, law="laplace", winners=2, step=Fraction(1, 8)), noise.race(scores, 1))
    print(noise.choose(ones, ones, HALF), noise.choose_each(ones, ones, np.array([2, 1]), HALF), noise.below_each(ones))
    print(noise.rounded_laplace(HALF), noise.rounded_power(HALF, 2, 3), noise.rounded_student(HALF, 3))


def refute() -> None:
    """Every name of `privet.audit` and of `privet.plots`."""
    count = privet.Laplace(sensitivity=1, epsilon=1)
    report: audit.Report = audit.audit(count, (10, 11), 1, 2000)
    counts: audit.Counts = report.counts
    print(report.refuted, counts.epsilon(0.0, 1e-6), audit.power(counts, 1.0, 0.0, 1e-6), audit.rate_low(3, 10, 0.1))
    print(audit.rate_high([3, 4], [10, 10], 0.1), audit.low_bits([0.5, 0.75]))
    print(audit.audit_bits(count.simulate, 1, 500).found)
    honest, other = [0.75, 0.25], [HALF, HALF]
    curve: audit.Curve = audit.exact_curve(honest, other, [0.0, 0.1])
    print(curve.points, audit.exact_epsilon(honest, other), audit.exact_delta(honest, other, 0.5))
    print(audit.sensitivity_by_enumeration(sum, [0, 10], 2, neighbors="change-one").l1)
    held = {"staff": tables()["staff"]}
    with privet.Session(held, budget=privet.Pure(epsilon=1)) as session:
        plan = session.plan("SELECT SUM(pay) FROM staff", epsilon=0.5)
    found: audit.Replay = audit.replay(held, plan, most=5)
    worst: audit.Moved | None = found.worst
    print(found.holds, worst)
    laplace, normal = count.event, privet.Gaussian(sensitivity=1, sigma=2).event
    plots.plot_delta({"Laplace": laplace, "Gaussian": normal}, most=2.5, path=FOLDER / "delta.png")
    plots.plot_tradeoff(laplace).savefig(FOLDER / "tradeoff.png")
    plots.plot_loss(normal, epsilon=1)
    plots.plot_p_values({"a test": [0.2, 0.7]}, path=FOLDER / "p.png")
    plots.plot_power({"a test": [0.2, 0.7]}, [100, 1000])
    plots.plot_composition(laplace, times=5, delta=1e-6)
    plots.plot_audit(report, title="Laplace noise")


if __name__ == "__main__":
    budgets()
    for part in (ask, build, keep_a_ledger, refuse, release, release_more, account, draw, refute):
        part()
