"""Strategies for workloads over several attributes: one product, or several products that are measured together."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize as numerical

from privet.core.errors import RequestError

from .hierarchies import identity_strategy
from .joint_covariances import SharedBasis, directions_of, spread
from .strategies import MatrixStrategy, Noise, ProductStrategy
from .unions import UnionStrategy
from .weighted_sums import evened
from .workloads import (
    MOST_CELLS,
    Floats,
    MarginalWorkload,
    ProductWorkload,
    RangeWorkload,
    UnionWorkload,
    Workload,
)

Parts = list[tuple[ProductWorkload, float]]
Choose = Callable[[Workload], MatrixStrategy]

_ROUNDS = 3
_MOST_GROUPS = 16
_MOST_SCALES = 4096
"""The most different noise scales of a product; with more, its factors' rows are scaled instead of their noise."""

_PRECISION = 2**16
_LEAST_SHARE = 1e-4


def products_of(workload: Workload) -> Parts:
    """Return a workload over several attributes as weighted products."""
    if isinstance(workload, ProductWorkload):
        return [(workload, 1.0)]
    if isinstance(workload, MarginalWorkload):
        if workload.cells > MOST_CELLS:
            return []
        return list(zip(workload.products, workload.weights, strict=True))
    if isinstance(workload, UnionWorkload):
        pairs = [(products_of(part), weight) for part, weight in workload.weighted()]
        return [(product, inner * weight) for part, weight in pairs for product, inner in part]
    raise RequestError("a workload over several attributes is a product, marginals, or a union of such")


def best_product(shape: tuple[int, ...], parts: Parts, noise: Noise, choose: Choose) -> ProductStrategy:
    """Return a product of strategies, optimised one attribute after the other for a weighted sum of products.

    With the other factors fixed, the total variance is that of a union over this attribute alone, in which each
    product has the weight of what its other factors contribute.

    Cites: [MMHM18, Kronecker strategies].
    """
    factors = [identity_strategy(size, measure=noise) for size in shape]
    totals = [[_total(product, axis, factors[axis]) for axis in range(len(shape))] for product, _ in parts]
    for _ in range(1 if len(parts) == 1 else _ROUNDS):
        for axis in range(len(shape)):
            merged = _merged([product.factors[axis] for product, _ in parts], _weights_along(axis, parts, totals))
            factors[axis] = choose(merged)
            for row, (product, _) in zip(totals, parts, strict=True):
                row[axis] = _total(product, axis, factors[axis])
    if _scales(factors) > _MOST_SCALES:
        factors = [evened(factor) for factor in factors]
    return ProductStrategy(tuple(factors))


def best_union(shape: tuple[int, ...], parts: Parts, noise: Noise, choose: Choose) -> UnionStrategy | None:
    """Return several products that are measured together, or None where one product has all there is to measure.

    The factors of all parts along an attribute are two classes: the two workloads there are, or totals and all others.
    Each class has one strategy, so that two matrices along each attribute have their directions in common, and each
    combination of classes that occurs is one product. How precisely each is measured is a problem of as many numbers.

    Cites: [MMHM18, unions of products].
    """
    classes = [_two_classes([product.factors[axis] for product, _ in parts]) for axis in range(len(shape))]
    patterns = list(zip(*classes, strict=True))
    groups = sorted(set(patterns))
    if not 1 < len(groups) <= _MOST_GROUPS or len(groups) * math.prod(shape) > MOST_CELLS:
        return None
    plain = [identity_strategy(size, measure=noise) for size in shape]
    totals = [[_total(product, axis, plain[axis]) for axis in range(len(shape))] for product, _ in parts]
    chosen: dict[tuple[int, int], MatrixStrategy] = {}
    for axis in range(len(shape)):
        weights = _weights_along(axis, parts, totals)
        for kind in set(classes[axis]):
            some = [place for place, label in enumerate(classes[axis]) if label == kind]
            merged = _merged([parts[place][0].factors[axis] for place in some], [weights[place] for place in some])
            chosen[axis, kind] = choose(merged)
    if max(_scales([chosen[place] for place in enumerate(group)]) for group in groups) > _MOST_SCALES:
        chosen = {place: evened(factor) for place, factor in chosen.items()}
    products = tuple(ProductStrategy(tuple(chosen[place] for place in enumerate(group))) for group in groups)
    if sum(product.rows for product in products) > MOST_CELLS:
        return None
    name = f"union of {len(products)} products"
    norms = [product.column_norm() for product in products]
    even = UnionStrategy(products, tuple(math.ceil(_PRECISION * max(norms) / norm) for norm in norms), name)
    if even._bases is None:
        return None
    shares = _best_shares(even._bases, [float(norm) for norm in norms], parts, noise)
    raised = [max(share, _LEAST_SHARE * max(shares)) for share in shares]
    ratios = [share / float(norm) for share, norm in zip(raised, norms, strict=True)]
    return UnionStrategy(products, tuple(round(_PRECISION * ratio / min(ratios)) for ratio in ratios), name)


def _best_shares(bases: tuple[SharedBasis, ...], norms: list[float], parts: Parts, noise: Noise) -> list[float]:
    """Return how much of the whole norm each product has, for the least total variance.

    With d_k the eigenvalues of product k at norm 1 and t the weight of each direction in the workload, the total
    variance is (sum s)^2 sum t / sum_k (s_k^2 / 2) d_k for Laplace noise, and (sum s) sum t / sum_k s_k d_k for
    Gaussian noise.
    """
    power = 2 if noise == "pure" else 1
    eigenvalues = [
        spread([basis.values[place] for basis in bases]) / norm**power / power for place, norm in enumerate(norms)
    ]
    pull = np.zeros(eigenvalues[0].shape)
    for workload, weight in parts:
        pull += weight * spread(directions_of(bases, workload))
    wanted = pull > 1e-12 * pull.max()
    kept, values = pull[wanted], np.array([eigenvalue[wanted] for eigenvalue in eigenvalues])

    def loss(logs: Floats) -> tuple[float, Floats]:
        shares = np.exp(logs - logs.max())
        terms = kept / np.maximum(shares**power @ values, 1e-300)
        spent = float(terms.sum())
        slopes = values @ (terms**2 / kept) * power * shares**power / spent
        return math.log(spent) + power * math.log(shares.sum()), power * shares / shares.sum() - slopes

    bounds = numerical.Bounds(-20, 20)
    solution = numerical.minimize(loss, np.zeros(len(norms)), jac=True, method="L-BFGS-B", bounds=bounds)
    return [float(share) for share in np.exp(solution.x - solution.x.max())]


def _two_classes(factors: list[Workload]) -> list[int]:
    """Return which of two classes each factor belongs to: equal ones to one, or totals to one and others to another."""
    keys = [_key(factor) for factor in factors]
    order = list(dict.fromkeys(keys))
    if len(order) <= 2:
        return [order.index(key) for key in keys]
    return [int(isinstance(factor, RangeWorkload) and factor.name == "total") for factor in factors]


def _weights_along(axis: int, parts: Parts, totals: list[list[float]]) -> list[float]:
    """Return the weight of each part along one attribute: what its other factors contribute."""
    return [
        weight * math.prod(total for other, total in enumerate(row) if other != axis)
        for (_, weight), row in zip(parts, totals, strict=True)
    ]


def _scales(factors: list[MatrixStrategy]) -> int:
    """Return how many different noise scales a product of factors has, at most."""
    return math.prod(len(set(factor.weights)) for factor in factors)


def _total(workload: ProductWorkload, axis: int, factor: MatrixStrategy) -> float:
    return workload.factors[axis].total_variance(factor.unit_covariance())


def _key(factor: Workload) -> object:
    """Return what two factors have in common exactly where they are the same workload."""
    named = isinstance(factor, RangeWorkload) and factor.name != "ranges"
    return (repr(factor), factor.queries) if named else id(factor)


def _merged(factors: list[Workload], weights: list[float]) -> Workload:
    """Return the factors as one workload, equal ones once."""
    merged: dict[object, tuple[Workload, float]] = {}
    for factor, weight in zip(factors, weights, strict=True):
        key = _key(factor)
        merged[key] = factor, merged.get(key, (factor, 0.0))[1] + weight
    if len(merged) == 1:
        return next(iter(merged.values()))[0]
    largest = max(weight for _, weight in merged.values())
    return UnionWorkload(
        tuple(factor for factor, _ in merged.values()), tuple(weight / largest for _, weight in merged.values())
    )
