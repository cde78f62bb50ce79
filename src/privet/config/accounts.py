"""Budgets and analysts as privet.toml writes them. Amounts are exactly the decimals that are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter
from privet.core.names import alike
from privet.ledger.rules import KEYS_SHARE

from .problems import Section, nearest
from .scalars import above_zero, instant, part
from .values import Analyst, Rules

_BUDGET = "epsilon = 1 (pure), epsilon = 1 and delta = 1e-6, or rho = 0.1"


def read_rules(root: Section) -> Rules | None:
    """Return the data set's budget and its rules, or None where they are not declared well, which is noted."""
    section = root.section("budget", "[budget] with epsilon = 1 and delta = 1e-6")
    if section is None:
        if not root.has("budget"):
            root.problem("budget", f"no budget is declared; write [budget] and under it {_BUDGET}")
        return None
    budget = read_budget(section, needed=True)
    expires = section.read("expires", instant, None)
    share = section.read("keys_share", part("keys_share"), KEYS_SHARE)
    if section.has("keys_share") and isinstance(budget, (Pure, Zcdp)):
        section.problem("keys_share", "is a part of delta, and this budget has none; leave it out")
    inner = section.section("per_query", "per_query = { epsilon = 0.5, delta = 1e-6 }")
    most = None if inner is None else read_budget(inner, needed=True)
    if inner is not None:
        inner.finish()
        if most is not None and budget is not None and type(most) is not type(budget):
            inner.problem(None, f"must be of the same kind as the budget, which is {budget.describe()}")
    section.finish()
    if budget is None:
        return None
    return Rules(budget=budget, per_query=most, expires=expires, keys_share=share)


def read_budget(section: Section, *, needed: bool) -> Budget | None:
    """Return the budget that a table holds: epsilon, epsilon and delta, or rho."""
    epsilon = section.read("epsilon", above_zero("epsilon"), None)
    delta = section.read("delta", part("delta"), None)
    rho = section.read("rho", above_zero("rho"), None)
    given = {key for key in ("epsilon", "delta", "rho") if section.has(key)}
    if not given:
        if needed:
            section.problem(None, f"no amount is given; write {_BUDGET}")
        return None
    if "rho" in given and len(given) > 1:
        section.problem("rho", f"a budget is counted in one way; write {_BUDGET}")
        return None
    if given == {"delta"}:
        section.problem("delta", "is given without epsilon; write both")
        return None
    if epsilon is not None and delta is not None:
        return Approximate(epsilon=epsilon, delta=delta)
    if epsilon is not None and "delta" not in given:
        return Pure(epsilon=epsilon)
    return None if rho is None else Zcdp(rho=rho)


def read_analysts(root: Section, tables: Iterable[str], budget: Budget | None) -> dict[str, Analyst]:
    """Return who may ask, about what and up to which budget."""
    section = root.section("analysts", "[analysts.alice] with epsilon = 0.5")
    if section is None:
        return {}
    known = tuple(tables)
    found: dict[str, Analyst] = {}
    for name, one in section.sections("[analysts.alice] with epsilon = 0.5").items():
        if not name.strip() or len(name) > 200 or not name.isprintable():
            one.problem(None, "must be a name, of 1 to 200 characters")
        other = alike(name, found)
        if other is not None:
            one.problem(None, f"looks like {other!r}, and one could pass for the other; choose another name")
        cap = read_budget(one, needed=False)
        if cap is not None and budget is not None and not _fits_under(cap, budget):
            one.problem(None, f"a cap of this kind cannot be counted under the budget, which is {budget.describe()}")
        chosen = one.read("tables", _names(one, known), known)
        one.finish()
        found[name] = Analyst(budget=cap, tables=chosen)
    return found


def _fits_under(cap: Budget, budget: Budget) -> bool:
    return isinstance(budget, Approximate) or isinstance(cap, Pure) or type(cap) is type(budget)


def _names(section: Section, known: tuple[str, ...]) -> Callable[[object], tuple[str, ...]]:
    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            raise BadParameter("tables", value, 'a list of names in quotes, such as ["visits"]')
        for name in value:
            if name not in known:
                section.problem("tables", f"there is no table {name!r}; {nearest(name, known)}")
            if value.count(name) > 1:
                section.problem("tables", f"names {name!r} twice")
        return tuple(value)

    return read
