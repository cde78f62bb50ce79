"""GoogleSQL's way to ask, SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...): what it may choose, and what it may not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetExceeded, ParseError, PrivetError, RequestError, UnknownName
from privet.core.errors import Unsupported as Refused
from privet.core.scan import Truncate
from privet.core.schema import Contribution, Schema, Table, category, integer
from privet.core.unit import Person, Rows, Unit
from privet.query.sql.parse import parse
from privet.session import Session

DELTA = Fraction(1, 10**6)
BOTH = Approximate(epsilon=3, delta=DELTA)
COLUMNS = {"person": integer(), "age": integer(0, 120), "ward": category(["a", "b", "c"])}
PLAIN = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"


def session(budget: Budget = BOTH, unit: Unit | None = None) -> Session:
    rows = pa.table({"person": [i % 10 for i in range(30)], "age": list(range(30)), "ward": ["a", "b", "c"] * 10})
    who = unit or Person("person")
    typical = None if isinstance(who, Rows) else Contribution(groups=2, rows=2)
    return Session({"t": Table(rows, unit=who, columns=COLUMNS, contribution=typical)}, budget=budget)


def google(options: str, select: str = "ward, COUNT(*) AS n FROM t GROUP BY ward") -> str:
    return f"SELECT WITH DIFFERENTIAL_PRIVACY {options} {select}"


def test_its_epsilon_is_ours_and_the_same_question_in_our_words_is_free() -> None:
    with session() as asked:
        first = asked.ask(google("OPTIONS(epsilon = 0.5)"))
        assert first.plan.spend.epsilon == Fraction(1, 2)
        assert asked.ask(PLAIN, epsilon=Fraction(1, 2)).to_dict() == first.to_dict()
        assert asked.ask(google("Options (Epsilon=.5)") + ";").to_dict() == first.to_dict()
        assert len(asked.history()) == 1


def test_without_options_it_is_the_plain_question() -> None:
    with session() as asked:
        plain = asked.plan(PLAIN).digest
        assert asked.plan(google("")).digest == asked.plan(google("OPTIONS()")).digest == plain


def test_groups_contributed_keeps_so_many_groups_of_each_person_and_the_declared_rows() -> None:
    with session() as asked:
        plan = asked.plan(google("OPTIONS(max_groups_contributed = 1, epsilon = 1)"))
        assert plan.passes[0].scan.bounding == Truncate(1, 2)
        same = asked.plan(PLAIN, epsilon=1, bound="groups", contribution=Contribution(groups=1, rows=2))
        assert plan.digest == same.digest


def test_too_dear_says_what_fits_for_the_very_bounding_that_was_asked() -> None:
    with session(Pure(epsilon=1)) as asked:
        refusals = []
        for groups in (1, 3):
            with pytest.raises(BudgetExceeded) as refused:
                asked.ask(google(f"OPTIONS(epsilon = 2, max_groups_contributed = {groups})"))
            refusals.append(float(refused.value.error.partition("±")[2]))
        assert refusals[1] == pytest.approx(3 * refusals[0], rel=0.2)
        assert asked.history() == ()


def test_a_delta_that_the_account_keeps_to_and_the_declared_person_may_be_said() -> None:
    with session() as asked:
        plain = asked.plan(PLAIN, epsilon=1).digest
        said = "OPTIONS(epsilon = 1, delta = {}, privacy_unit_column = PERSON)"
        assert asked.plan(google(said.format("1e-6"))).digest == plain
        assert asked.plan(google(said.format("0.01"))).digest == plain


def test_it_stands_after_the_outermost_select_behind_ctes_too_and_goes_with_within() -> None:
    with session() as asked:
        cte = "WITH old AS (SELECT * FROM t WHERE age > 9) "
        made = asked.plan(cte + google("OPTIONS(epsilon = 1)", "COUNT(*) AS n FROM old"))
        assert made.digest == asked.plan("SELECT COUNT(*) AS n FROM t WHERE age > 9", epsilon=1).digest
        wide = asked.plan(google("OPTIONS(max_groups_contributed = 1)") + " WITHIN 20")
        assert wide.target is not None


def test_its_words_are_names_like_any_other_elsewhere() -> None:
    with session() as asked:
        sql = "WITH differential_privacy AS (SELECT age AS options FROM t) SELECT SUM(options) AS epsilon "
        assert asked.plan(sql + "FROM differential_privacy").readings


REFUSED: list[tuple[str, dict[str, Any], type[PrivetError], str]] = [
    (google("OPTIONS(epsilon = 1, delta = 1e-7)"), {}, Refused, "account uses 1e-06"),
    (google("OPTIONS(epsilon = 1, privacy_unit_column = age)"), {}, Refused, "'person'"),
    (google("OPTIONS(group_selection_strategy = PRIVATE_GROUPS)"), {}, RequestError, "group_selection_strategy"),
    (google("OPTIONS(max_rows_contributed = 3)"), {}, Refused, "max_rows_contributed"),
    (google("OPTIONS(capa = 3)"), {}, UnknownName, "no option 'capa'"),
    (google("OPTIONS(epsilom = 3)"), {}, UnknownName, "did you mean 'epsilon'"),
    (google("OPTIONS(epsilon = 1, epsilon = 2)"), {}, ParseError, "twice"),
    (google("OPTIONS(epsilon = -1)"), {}, ParseError, "write options as"),
    (google("OPTIONS(epsilon = '1')"), {}, ParseError, "write options as"),
    (google("OPTIONS(epsilon = 1"), {}, ParseError, "write options as"),
    (google("OPTIONS(epsilon"), {}, ParseError, "write options as"),
    (google("OPTIONS(epsilon = 1 delta = 1)"), {}, ParseError, "write options as"),
    (google("OPTIONS(epsilon = 1e999999999)"), {}, ParseError, "OPTIONS(epsilon = 1,"),
    (google("OPTIONS(epsilon = 0)"), {}, BadParameter, "above 0"),
    (google("OPTIONS(max_groups_contributed = 0)"), {}, BadParameter, "groups"),
    (google("OPTIONS(max_groups_contributed = 1.5)"), {}, BadParameter, "whole number"),
    (google("OPTIONS(epsilon = 1)"), {"epsilon": 1}, RequestError, "EPSILON itself"),
    (google("OPTIONS(epsilon = 1)"), {"rho": 1}, RequestError, "not both"),
    (google("OPTIONS(epsilon = 1)") + " WITHIN 5", {}, RequestError, "not both"),
    (
        google("OPTIONS(max_groups_contributed = 1)"),
        {"contribution": Contribution(groups=1, rows=1)},
        RequestError,
        "itself",
    ),
    (google("", "COUNT(*) FROM (" + google("", "ward FROM t") + ") s"), {}, Refused, "outermost"),
    (f"SELECT COUNT(*) FROM ({google('', 'ward FROM t')}) s", {}, Refused, "outermost"),
    (google("OPTIONS(epsilon = 1)", "* FROM t"), {}, Refused, "single rows"),
]


@pytest.mark.parametrize(("sql", "options", "kind", "words"), REFUSED)
def test_what_it_may_not_say_is_refused_by_name_before_anything_is_charged_or_read(
    sql: str, options: dict[str, Any], kind: type[PrivetError], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with session() as asked:
        monkeypatch.setattr(asked._executor.engine, "scan", lambda scan: pytest.fail("the data was read"))
        with pytest.raises(kind) as refused:
            asked.ask(sql, **options)
        assert words in str(refused.value)
        assert asked.history() == ()


def test_an_account_that_counts_rho_takes_no_epsilon_from_a_question() -> None:
    with session(Zcdp(rho=1)) as asked, pytest.raises(RequestError, match="pass rho="):
        asked.plan(google("OPTIONS(epsilon = 1)"))


def test_where_each_row_is_protected_no_column_can_be_named() -> None:
    with session(unit=Rows()) as asked, pytest.raises(Refused, match="each row here"):
        asked.plan(google("OPTIONS(privacy_unit_column = person)"))


def test_a_question_that_is_only_read_has_no_options() -> None:
    with pytest.raises(Refused, match="how a session is to answer"):
        parse(google("OPTIONS(epsilon = 1)"), {"t": Schema(unit=Rows(), columns=COLUMNS)})
