"""Privet's side of each benchmark."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from privet_audits import AUDITS
from privet_ledger import LEDGER
from privet_local import LOCAL
from privet_postgres import IN_POSTGRES
from privet_queries import QUERIES
from privet_shared_ledger import SHARED_LEDGER
from privet_spark import ON_SPARK
from serve import importing, serve
from strategy_errors import STRATEGIES

import privet
from privet import noise


def discrete_laplace(scale: int, draws: int) -> Callable[[], Any]:
    return lambda: noise.discrete_laplace(scale, draws)


def discrete_gaussian(scale: int, draws: int) -> Callable[[], Any]:
    return lambda: noise.discrete_gaussian(scale**2, draws)


def scalar_laplace(scale: int, draws: int) -> Callable[[], Any]:
    mechanism = privet.Laplace(sensitivity=1, scale=scale)
    return lambda: [mechanism.release(0) for _ in range(draws)]


def exponential_mechanism(candidates: int) -> Callable[[], Any]:
    import numpy as np

    mechanism = privet.Exponential(sensitivity=1, epsilon=1)
    scores = np.arange(candidates, dtype=np.int64) % 1000
    return lambda: mechanism.release(scores)


def permute_and_flip(candidates: int) -> Callable[[], Any]:
    import numpy as np

    mechanism = privet.PermuteAndFlip(sensitivity=1, epsilon=1)
    scores = np.arange(candidates, dtype=np.int64) % 1000
    return lambda: mechanism.release(scores)


def sparse_vector(queries: int) -> Callable[[], Any]:
    import numpy as np

    mechanism = privet.Sparse(threshold=5000, limit=50, sensitivity=1, epsilon=1)
    answers = np.arange(queries, dtype=np.int64) % 1000
    return lambda: mechanism.release(answers).answered


def sparse_vector_stream(queries: int) -> Callable[[], Any]:
    mechanism = privet.Sparse(threshold=5000, limit=50, sensitivity=1, epsilon=1)
    return lambda: sum(1 for _ in mechanism.stream(place % 1000 for place in range(queries)))


def of_rows(mechanism: Any, rows: int) -> Callable[[], Any]:
    import numpy as np

    values = np.random.default_rng(1).normal(50.0, 10.0, rows)
    return lambda: mechanism.release(values)


def smooth_median(rows: int) -> Callable[[], Any]:
    return of_rows(privet.mechanisms.SmoothQuantile(q=0.5, low=0, high=100, epsilon=1), rows)


def exponential_median(rows: int) -> Callable[[], Any]:
    return of_rows(privet.Quantile(q=0.5, low=0, high=100, epsilon=1), rows)


def recursive_deciles(rows: int) -> Callable[[], Any]:
    shares = [place / 10 for place in range(1, 10)]
    return of_rows(privet.mechanisms.RecursiveQuantiles(quantiles=shares, low=0, high=100, epsilon=1), rows)


def joint_deciles(rows: int) -> Callable[[], Any]:
    shares = [place / 10 for place in range(1, 10)]
    return of_rows(privet.Quantiles(quantiles=shares, low=0, high=100, epsilon=1), rows)


def different(events: int) -> list[Any]:
    from privet.mechanisms import GaussianEvent, LaplaceEvent

    made: list[Any] = []
    for place in range(events // 2):
        made.append(LaplaceEvent(sensitivity=1, scale=40 + Fraction(place, 10)))
        made.append(GaussianEvent(sensitivity_squared=1, sigma_squared=(60 + Fraction(place, 5)) ** 2))
    return made


def compose_different(events: int, delta: float) -> Callable[[], Any]:
    from privet import accounting

    composed = accounting.Composed(tuple(different(events)))
    return lambda: {"figures": {"epsilon": accounting.epsilon(composed, delta)}}


def compose_sampled(rate: float, sigma: float, steps: int, delta: float) -> Callable[[], Any]:
    from privet import accounting
    from privet.mechanisms import GaussianEvent

    one = GaussianEvent(sensitivity_squared=1, sigma_squared=Fraction(str(sigma)) ** 2)
    steps_taken = accounting.Repeated(accounting.Sampled(one, Fraction(str(rate))), steps)
    return lambda: {"figures": {"epsilon": accounting.epsilon(steps_taken, delta)}}


def spend_one_more(history: int, delta: float) -> Callable[[], Any]:
    from privet import accounting
    from privet.core.budget import Approximate
    from privet.mechanisms import GaussianEvent

    account = accounting.open_filter(Approximate(epsilon=50, delta=delta))
    for event in different(1000) * (history // 1000):
        account = account.spend(event)
    more = GaussianEvent(sensitivity_squared=1, sigma_squared=Fraction(777, 10) ** 2)

    def call() -> dict[str, Any]:
        account.spend(more)
        return {"note": "filter: holds however each event was chosen"}

    return call


if __name__ == "__main__":
    serve(
        "privet",
        {
            "discrete_laplace": discrete_laplace,
            "discrete_gaussian": discrete_gaussian,
            "scalar_laplace": scalar_laplace,
            "exponential_mechanism": exponential_mechanism,
            "permute_and_flip": permute_and_flip,
            "sparse_vector": sparse_vector,
            "sparse_vector_stream": sparse_vector_stream,
            "smooth_median": smooth_median,
            "exponential_median": exponential_median,
            "recursive_deciles": recursive_deciles,
            "joint_deciles": joint_deciles,
            "compose_different": compose_different,
            "compose_sampled": compose_sampled,
            "spend_one_more": spend_one_more,
            "import": importing("privet"),
            **QUERIES,
            **LEDGER,
            **SHARED_LEDGER,
            **IN_POSTGRES,
            **ON_SPARK,
            **AUDITS,
            **STRATEGIES,
            **LOCAL,
        },
    )
