"""A deliberate change of plans, pretended: what was released before is found where that was sound, and never elsewhere.

The pretended change halves the noise of every sum, which was twice as wide before; the earlier release is the plan with
twice the noise, carried out while there was no such edition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from privet.answer import Answer
from privet.core.budget import Pure
from privet.core.errors import RequestError
from privet.core.schema import Table, category, integer, number
from privet.core.unit import Rows
from privet.ledger.memory import MemoryLedger
from privet.mechanisms import Laplace
from privet.planner.batch import Batch, digests_of
from privet.planner.groupings import Levels
from privet.planner.measures import Measure
from privet.planner.plan import EDITIONS, Edition, Pass, Plan, digest_of
from privet.session import Session

TOTAL = "SELECT ward, SUM(cost) AS total FROM t GROUP BY ward"
COUNT = "SELECT COUNT(*) AS n FROM t"
MEDIAN = "SELECT MEDIAN(age) AS middle FROM t"
LEVELS = "SELECT ward, SUM(cost) AS total FROM t GROUP BY ROLLUP (ward)"
WIDE = "SELECT ward, AVG(cost) AS m FROM t GROUP BY ward"
COLUMNS = {"age": integer(0, 120), "cost": number(0, 1000, step=1), "ward": category(["a", "b"])}
Passes = tuple[Pass, ...]


def table() -> Table:
    rows = {
        "age": [i % 90 for i in range(400)],
        "cost": [float(i % 700) for i in range(400)],
        "ward": ["ab"[i % 2] for i in range(400)],
    }
    return Table(pa.table(rows), unit=Rows(), columns=COLUMNS)


@pytest.fixture
def session() -> Iterator[Session]:
    with Session({"t": table()}, ledger=MemoryLedger(Pure(epsilon=1000)), account="ana") as made:
        yield made


def sums(passes: Passes) -> bool:
    return any(measure.sum.expression is not None for one in passes for measure in one.measures)


def wider(measure: Measure, times: int = 2) -> Measure:
    noise = measure.mechanism
    assert isinstance(noise, Laplace)
    return replace(measure, mechanism=Laplace(sensitivity=noise.sensitivity, scale=noise.scale * times))


def doubled(plan: Plan) -> Plan:
    passes = tuple(one.with_noise(tuple(map(wider, one.measures))) for one in plan.passes)
    return replace(plan, passes=passes)


def same(plan: Plan) -> Plan:
    return plan


def nothing(plan: Plan) -> None:
    return None


def edition(
    number: int = 2,
    *,
    kind: str = "sum",
    sound: bool = True,
    earlier: Callable[[Plan], Plan | None] = doubled,
    concerns: Callable[[Passes], bool] = sums,
) -> Edition:
    return Edition(kind, number, concerns, sound, earlier)


@pytest.fixture
def since(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what brings editions into force."""
    return lambda *several: monkeypatch.setattr("privet.planner.plan.EDITIONS", several)


def spent(session: Session) -> int:
    return len(session.history())


def widths(answer: Answer, name: str = "total") -> list[float]:
    series = answer[name]
    assert series.low is not None
    assert series.high is not None
    return [high - low for low, high in zip(series.low, series.high, strict=True)]


def before(session: Session, question: str = TOTAL) -> Answer:
    """Ask as the planner did before: with twice the noise."""
    return session.run(doubled(session.plan(question, epsilon=1)))


def test_editions_of_a_kind_are_numbered_in_their_order() -> None:
    last: dict[str, int] = {}
    for one in EDITIONS:
        assert one.number == last.get(one.kind, 1) + 1
        last[one.kind] = one.number


def test_an_answer_of_a_sound_earlier_edition_is_free_and_read_by_the_plan_that_released_it(
    session: Session, since: Callable[..., None]
) -> None:
    stored = before(session)
    charged = spent(session)
    since(edition())
    plan = session.plan(TOTAL, epsilon=1)
    assert plan.digest != stored.receipt.digest
    assert digests_of(plan) == ((plan.digest,), (stored.receipt.digest,))
    found = session.ask(TOTAL, epsilon=1)
    assert spent(session) == charged
    assert found.receipt == stored.receipt
    assert found.to_dict() == stored.to_dict()
    assert widths(found) == widths(stored)
    assert found.plan.passes == stored.plan.passes


def test_an_answer_of_an_unsound_edition_is_charged_again_and_drawn_anew(
    session: Session, since: Callable[..., None]
) -> None:
    stored = before(session)
    charged = spent(session)
    since(edition(sound=False))
    plan = session.plan(TOTAL, epsilon=1)
    assert digests_of(plan) == ((plan.digest,),)
    found = session.ask(TOTAL, epsilon=1)
    assert spent(session) == charged + 1
    assert found.receipt.digest == plan.digest != stored.receipt.digest
    assert max(widths(found)) < max(widths(stored))


def test_an_unsound_edition_hides_what_was_released_by_the_same_passes(
    session: Session, since: Callable[..., None]
) -> None:
    stored = session.ask(TOTAL, epsilon=1)
    since(edition(sound=False, earlier=same))
    found = session.ask(TOTAL, epsilon=1)
    assert spent(session) == 2
    assert found.plan.passes == stored.plan.passes
    assert found.receipt.digest != stored.receipt.digest


def test_a_change_of_meaning_alone_keeps_its_answers_where_it_is_sound(
    session: Session, since: Callable[..., None]
) -> None:
    stored = session.ask(TOTAL, epsilon=1)
    since(edition(earlier=same))
    assert session.plan(TOTAL, epsilon=1).digest != stored.receipt.digest
    assert session.ask(TOTAL, epsilon=1).to_dict() == stored.to_dict()
    assert spent(session) == 1


@pytest.mark.parametrize("sound", [True, False])
def test_questions_of_other_kinds_keep_their_digests(session: Session, since: Callable[..., None], sound: bool) -> None:
    since()
    asked = [session.plan(question, epsilon=1).digest for question in (COUNT, MEDIAN, TOTAL)]
    for question in (COUNT, MEDIAN):
        session.ask(question, epsilon=1)
    charged = spent(session)
    since(edition(sound=sound))
    again = [session.plan(question, epsilon=1).digest for question in (COUNT, MEDIAN, TOTAL)]
    assert again[:2] == asked[:2]
    assert again[2] != asked[2]
    for question in (COUNT, MEDIAN):
        session.ask(question, epsilon=1)
    assert spent(session) == charged


def test_a_fresh_answer_is_stored_under_its_own_edition_and_found_again(
    session: Session, since: Callable[..., None]
) -> None:
    since(edition())
    plan = session.plan(TOTAL, epsilon=1)
    first = session.ask(TOTAL, epsilon=1)
    assert first.receipt.digest == plan.digest == session.history()[-1].digest
    assert session.ask(TOTAL, epsilon=1).to_dict() == first.to_dict()
    assert spent(session) == 1


def test_what_this_edition_released_comes_before_what_an_earlier_one_did(
    session: Session, since: Callable[..., None]
) -> None:
    stored = before(session)
    since(edition(sound=False))
    fresh = session.ask(TOTAL, epsilon=1)
    since(edition())
    found = session.ask(TOTAL, epsilon=1)
    assert found.to_dict() == fresh.to_dict() != stored.to_dict()


def test_of_several_editions_those_since_the_last_unsound_one_are_found(
    session: Session, since: Callable[..., None]
) -> None:
    first = session.plan(TOTAL, epsilon=1).digest
    since(edition(earlier=same))
    second = session.plan(TOTAL, epsilon=1).digest
    since(edition(earlier=same), edition(3, earlier=same))
    third = session.plan(TOTAL, epsilon=1)
    assert len({first, second, third.digest}) == 3
    assert digests_of(third) == ((third.digest,), (second,), (first,))
    since(edition(earlier=same, sound=False), edition(3, earlier=same))
    assert digests_of(session.plan(TOTAL, epsilon=1)) == ((third.digest,), (second,))
    since(edition(earlier=same), edition(3, earlier=same, sound=False))
    assert digests_of(session.plan(TOTAL, epsilon=1)) == ((third.digest,),)
    since(edition(earlier=same), edition(3, earlier=nothing))
    assert digests_of(session.plan(TOTAL, epsilon=1)) == ((third.digest,),)


def test_editions_of_different_kinds_are_told_apart_in_one_plan(session: Session, since: Callable[..., None]) -> None:
    both = "SELECT SUM(cost) AS total, MEDIAN(age) AS middle FROM t"

    def chosen(passes: Passes) -> bool:
        return any(bool(one.measure.draws) for one in passes)

    found = set()
    changes = edition(earlier=same), edition(kind="quantile", earlier=same, concerns=chosen)
    for several in ((), changes[:1], changes[1:], changes, changes[::-1]):
        since(*several)
        found.add(session.plan(both, epsilon=1).digest)
    assert len(found) == 4  # in whatever order two kinds were changed, the same were
    since(*changes)
    every = digests_of(session.plan(both, epsilon=1))
    assert len(every) == 3
    assert {digest for (digest,) in every} < found


def test_a_digest_names_its_edition_and_the_first_is_not_written(session: Session, since: Callable[..., None]) -> None:
    passes = session.plan(TOTAL, epsilon=1).passes
    now = digest_of(passes)
    since(edition())
    assert digest_of(passes, 0) == now != digest_of(passes, 1) == digest_of(passes)
    since(edition(7))
    assert digest_of(passes) not in {now, digest_of(passes, 0)}
    since(edition(concerns=lambda _: False))
    assert digest_of(passes) == now


@pytest.mark.parametrize("sound", [True, False])
def test_a_batch_is_found_as_a_whole_or_charged_as_a_whole(
    session: Session, since: Callable[..., None], sound: bool
) -> None:
    asked = session.plan_all([TOTAL, COUNT, TOTAL], epsilon=1)
    plans = tuple(doubled(plan) if sums(plan.passes) else plan for plan in asked.plans)
    stored = session.run_all(Batch(plans, asked.spend))
    since(edition(sound=sound))
    found = session.ask_all([TOTAL, COUNT, TOTAL], epsilon=1)
    assert spent(session) == (1 if sound else 2)
    assert ([one.to_dict() for one in found] == [one.to_dict() for one in stored]) == sound
    if sound:
        assert widths(found[0]) == widths(stored[0])
        assert {one.receipt for one in found} == {stored[0].receipt}
        reverse = session.ask_all([COUNT, TOTAL], epsilon=1)
        assert spent(session) == 1
        assert reverse[0].to_dict() == stored[1].to_dict()


@pytest.mark.parametrize("sound", [True, False])
def test_levels_are_found_together_or_charged_together(
    session: Session, since: Callable[..., None], sound: bool
) -> None:
    asked = session.plan(LEVELS, epsilon=1)
    assert isinstance(asked, Levels)
    stored = session.run(Levels.of(asked.query, tuple(map(doubled, asked.plans)), asked.spend))
    since(edition(sound=sound))
    plan = session.plan(LEVELS, epsilon=1)
    assert (digests_of(plan) == ((plan.digest,), (stored.receipt.digest,))) == sound
    found = session.ask(LEVELS, epsilon=1)
    assert spent(session) == (1 if sound else 2)
    assert (found.to_dict() == stored.to_dict()) == sound
    assert (widths(found) == widths(stored)) == sound
    assert session.ask(LEVELS, epsilon=1).to_dict() == found.to_dict()
    assert spent(session) == (1 if sound else 2)


def test_levels_of_which_one_is_unsound_are_all_charged_again(session: Session, since: Callable[..., None]) -> None:
    def parts(passes: Passes) -> bool:
        return sums(passes) and any(one.scan.keys for one in passes)

    session.ask(LEVELS, epsilon=1)
    since(edition(sound=False, earlier=same, concerns=parts))
    session.ask(LEVELS, epsilon=1)
    assert spent(session) == 2


@pytest.mark.parametrize("sound", [True, False])
def test_rounds_that_an_earlier_edition_finished_are_found(
    session: Session, since: Callable[..., None], sound: bool
) -> None:
    plan = session.plan(WIDE, within="50%", at_most=8)
    assert plan.rounds > 1
    stored = session.run(doubled(plan))
    charged = spent(session)
    since(edition(sound=sound))
    found = session.ask(WIDE, within="50%", at_most=8)
    assert (spent(session) == charged) == sound
    assert (found.to_dict() == stored.to_dict()) == sound
    assert (widths(found, "m") == widths(stored, "m")) == sound
    again = spent(session)
    assert session.ask(WIDE, within="50%", at_most=8).to_dict() == found.to_dict()
    assert spent(session) == again


def test_rounds_that_this_edition_finished_come_before_those_of_an_earlier_one(
    session: Session, since: Callable[..., None]
) -> None:
    stored = session.run(doubled(session.plan(WIDE, within="50%", at_most=8)))
    since(edition(sound=False))
    fresh = session.ask(WIDE, within="50%", at_most=8)
    since(edition())
    found = session.ask(WIDE, within="50%", at_most=8)
    assert found.to_dict() == fresh.to_dict() != stored.to_dict()


def test_rounds_that_were_not_finished_are_begun_anew_and_never_mixed(
    session: Session, since: Callable[..., None]
) -> None:
    plan = session.plan(WIDE, within="0.5%", at_most=8)
    session.run(doubled(plan.round(0)))
    since(edition())
    found = session.ask(WIDE, within="0.5%", at_most=8)
    assert found.accuracy is not None
    digests = [one.digest for one in session.history()]
    rounds = session.plan(WIDE, within="0.5%", at_most=8)
    assert [one.digest for one in found.accuracy.receipts] == digests[1:]
    assert digests[1:] == [rounds.round(index).digest for index in range(rounds.rounds)]
    assert digests[0] not in digests[1:]
    again = session.ask(WIDE, within="0.5%", at_most=8)
    assert again.to_dict() == found.to_dict()
    assert spent(session) == len(digests)


def test_what_is_wider_than_is_asked_for_now_is_not_given(session: Session, since: Callable[..., None]) -> None:
    plan = session.plan(TOTAL, within=20_000)
    session.run(doubled(replace(plan, target=None)))
    since(edition())
    found = session.ask(TOTAL, within=20_000)
    assert spent(session) == 2
    assert max(widths(found)) <= 40_000


def test_a_key_is_heeded_where_an_earlier_answer_is_found(session: Session, since: Callable[..., None]) -> None:
    stored = session.run(doubled(session.plan(TOTAL, epsilon=1)), key="monday")
    session.ask(COUNT, epsilon=1, key="tuesday")
    both = session.plan_all([TOTAL], epsilon=1)
    kept = session.run_all(Batch(tuple(map(doubled, both.plans)), both.spend), key="thursday")
    since(edition())
    assert session.ask(TOTAL, epsilon=1, key="monday").to_dict() == stored.to_dict()
    assert session.ask(TOTAL, epsilon=1, key="wednesday").to_dict() == stored.to_dict()
    with pytest.raises(RequestError, match="used for another question"):
        session.ask(TOTAL, epsilon=1, key="tuesday")
    assert session.ask_all([TOTAL], epsilon=1, key="thursday")[0].to_dict() == kept[0].to_dict()
    with pytest.raises(RequestError, match="used for another question"):
        session.ask_all([TOTAL], epsilon=1, key="monday")
    assert spent(session) == 3
    since(edition(sound=False))
    with pytest.raises(RequestError, match="used for another question"):
        session.ask(TOTAL, epsilon=1, key="monday")
    assert session.ask(TOTAL, epsilon=1, key="friday").receipt == session.ask(TOTAL, epsilon=1, key="friday").receipt
    assert spent(session) == 4


def test_another_account_that_did_not_pay_is_charged_by_this_edition(since: Callable[..., None]) -> None:
    ledger = MemoryLedger(Pure(epsilon=1000))
    with Session({"t": table()}, ledger=ledger, account="ana") as ana:
        before(ana)
    since(edition())
    with Session({"t": table()}, ledger=ledger, account="bob") as bob:
        found = bob.ask(TOTAL, epsilon=1)
        assert found.receipt.digest == bob.plan(TOTAL, epsilon=1).digest
    assert [one.account for one in ledger.history()] == ["ana", "bob"]


def test_a_key_is_heeded_where_earlier_rounds_are_found(session: Session, since: Callable[..., None]) -> None:
    stored = session.run(doubled(session.plan(WIDE, within="50%", at_most=8)), key="monday")
    session.ask(COUNT, epsilon=1, key="tuesday, round 1")
    charged = spent(session)
    since(edition())
    assert session.ask(WIDE, within="50%", at_most=8, key="monday").to_dict() == stored.to_dict()
    with pytest.raises(RequestError, match="used for another question"):
        session.ask(WIDE, within="50%", at_most=8, key="tuesday")
    assert spent(session) == charged


def test_a_part_that_is_sound_does_not_answer_for_the_whole(session: Session, since: Callable[..., None]) -> None:
    asked = session.plan_all([TOTAL, COUNT], epsilon=1)
    leveled = session.plan(LEVELS, epsilon=1)
    assert isinstance(leveled, Levels)

    def parts(passes: Passes) -> bool:
        return sums(passes) and any(one.scan.keys for one in passes)

    for plan in (*asked.plans, *leveled.plans):
        if not parts(plan.passes):
            session.run_all(Batch((plan,), asked.spend))
    charged = spent(session)
    since(edition(sound=False, earlier=same, concerns=parts))
    assert len(session.ask_all([TOTAL, COUNT], epsilon=1)) == 2
    assert len(session.ask(LEVELS, epsilon=1)) == 3
    assert spent(session) == charged + 2
