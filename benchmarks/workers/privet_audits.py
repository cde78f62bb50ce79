"""Privet's own releases for the audit benchmark, drawn and audited the same way as its peers'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from audited import audited

from privet import Gaussian, Laplace


def audit_laplace(**asked: Any) -> Callable[[], Any]:
    return audited(Laplace(sensitivity=1, epsilon=1).simulate, **asked)


def audit_gaussian(**asked: Any) -> Callable[[], Any]:
    epsilon, delta = asked["claimed"]
    return audited(Gaussian(sensitivity=1, epsilon=epsilon, delta=delta).simulate, **asked)


def audit_mean(**asked: Any) -> Callable[[], Any]:
    # as many rows as are public: one changed row moves the mean by a third
    mechanism = Laplace(sensitivity=1, epsilon=1)
    return audited(lambda rows, count: mechanism.simulate(sum(rows), count) / len(rows), **asked)


AUDITS = {
    "audit_laplace": audit_laplace,
    "audit_geometric": audit_laplace,
    "audit_gaussian": audit_gaussian,
    "audit_mean": audit_mean,
}
