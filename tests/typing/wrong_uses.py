"""Mistakes that a type checker finds before the program runs: one on each line that says so, and nowhere else."""

from __future__ import annotations

import privet
from privet import accounting, mechanisms, noise


def mistakes(session: privet.Session, ledger: privet.SqliteLedger) -> None:
    """Each line is refused when it runs, too, but for what is only suspicious."""
    privet.Pure(epsilon="1")  # wrong
    privet.Pure(epsilon=None)  # wrong
    privet.Approximate(epsilon=1)  # wrong
    privet.Zcdp(rho=[0.5])  # wrong
    privet.integer("0", "9")  # wrong
    privet.number(0, 1, step="fine")  # wrong
    privet.Contribution(groups=1.5, rows=1)  # wrong
    privet.Window("patient", "day", "7")  # wrong
    privet.Laplace(sensitivity=1, epsilon="1")  # wrong
    privet.Gaussian(sensitivity=1, epsilon=1, delta=None, rho=[1])  # wrong
    privet.Exponential(sensitivity="1", epsilon=1)  # wrong
    privet.Quantile(q="half", low=0, high=1, epsilon=1)  # wrong
    privet.Sparse(threshold={}, limit=1, sensitivity=1, epsilon=1)  # wrong
    privet.OptimalKeys(epsilon=1, delta="small")  # wrong
    mechanisms.Average(low=[0], high=1, epsilon=1)  # wrong
    accounting.ZcdpEvent("1/8")  # wrong
    accounting.epsilon(accounting.ZcdpEvent(1), "1e-6")  # wrong
    noise.discrete_laplace("2")  # wrong
    session.ask("SELECT COUNT(*) FROM visits", epsilon="1")  # wrong
    session.ask("SELECT COUNT(*) FROM visits", epsilon=[1])  # wrong
    session.ask("SELECT COUNT(*) FROM visits", within=[5])  # wrong
    session.ask("SELECT COUNT(*) FROM visits", epsilon=1, bound="all")  # wrong
    session.ask("SELECT COUNT(*) FROM visits", at_most="1")  # wrong
    session.ask(5, epsilon=1)  # wrong
    session.plan("SELECT COUNT(*) FROM visits", rho=object())  # wrong
    session.ask_all("SELECT COUNT(*) FROM visits", weights=["1"])  # wrong
    session.asks("SELECT COUNT(*) FROM visits")  # wrong
    ledger.top_up(privet.Pure(epsilon=1))  # wrong
    session.ask("SELECT COUNT(*) FROM visits", epsilon=1)
