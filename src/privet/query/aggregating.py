"""Aggregates in Python: `mean("age")`, `count(where=col("age") > 65)`. Each is a term over the rows of a group."""

from __future__ import annotations

from fractions import Fraction

from privet.core.exact import Number, probability, whole
from privet.core.expression import Literal

from .levels import grouping as marked_grouping
from .relation import aggregate, aggregate_of_two
from .relation import histogram as marked_histogram
from .relation import mode as marked_mode
from .relation import quantile as marked_quantile
from .several import bounds as marked_bounds
from .several import top_k as marked_top_k
from .terms import Term, constant, kept, read


def count(of: str | Term | None = None, *, where: Term | None = None) -> Term:
    """Return the number of rows, or of rows in which something is not NULL."""
    return Term(aggregate("count_rows" if of is None else "count", None if of is None else read(of), kept(where)))


def count_units(*, where: Term | None = None) -> Term:
    """Return the number of people."""
    return Term(aggregate("count_units", None, kept(where)))


def count_distinct(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the number of different values."""
    return Term(aggregate("count_distinct", read(of), kept(where)))


def grouping(*of: str | Term) -> Term:
    """Return a bit for each grouping column, 1 where the row is a total over it: for rollup, cube and grouping_sets."""
    return Term(marked_grouping(*(read(one) for one in of)))


def sum(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the sum."""
    return Term(aggregate("sum", read(of), kept(where)))


def mean(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the mean."""
    return Term(aggregate("avg", read(of), kept(where)))


def var(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the sample variance."""
    return Term(aggregate("var_samp", read(of), kept(where)))


def var_pop(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the population variance."""
    return Term(aggregate("var_pop", read(of), kept(where)))


def std(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the sample standard deviation."""
    return Term(aggregate("stddev_samp", read(of), kept(where)))


def std_pop(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the population standard deviation."""
    return Term(aggregate("stddev_pop", read(of), kept(where)))


def covar(of: str | Term, other: str | Term, *, where: Term | None = None) -> Term:
    """Return the sample covariance of two columns, over rows in which neither is NULL."""
    return Term(aggregate_of_two("covar_samp", read(of), read(other, "other"), kept(where)))


def covar_pop(of: str | Term, other: str | Term, *, where: Term | None = None) -> Term:
    """Return the population covariance of two columns, over rows in which neither is NULL."""
    return Term(aggregate_of_two("covar_pop", read(of), read(other, "other"), kept(where)))


def corr(of: str | Term, other: str | Term, *, where: Term | None = None) -> Term:
    """Return the correlation of two columns, over rows in which neither is NULL."""
    return Term(aggregate_of_two("corr", read(of), read(other, "other"), kept(where)))


def quantile(of: str | Term, share: Number, *, where: Term | None = None) -> Term:
    """Return the value below which a share of the values lies, such as 0.9."""
    return Term(marked_quantile(read(of), constant(_share(share), "share"), kept(where)))


def _share(share: Number) -> Number:
    probability(share, "share")
    return share


def median(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the median."""
    return quantile(of, Fraction(1, 2), where=where)


def mode(of: str | Term, *, where: Term | None = None) -> Term:
    """Return the most frequent value other than NULL."""
    return Term(marked_mode(read(of), kept(where)))


def top_k(of: str | Term, k: int, *, where: Term | None = None) -> Term:
    """Return the k most frequent values, the most frequent first: columns name_1, name_2, ..., under the name given."""
    return Term(marked_top_k(read(of), Literal(whole(k, "k", least=1, most=10**6)), kept(where)))


def bounds(of: str | Term, *, where: Term | None = None) -> Term:
    """Return a range that holds most values, where none is declared: columns name_low and name_high."""
    return Term(marked_bounds(read(of), kept(where)))


def smallest(of: str | Term, *, where: Term | None = None) -> Term:
    """Return a value that hardly any lie below: MIN, as an extreme quantile."""
    return quantile(of, 0, where=where)


def largest(of: str | Term, *, where: Term | None = None) -> Term:
    """Return a value that hardly any lie above: MAX, as an extreme quantile."""
    return quantile(of, 1, where=where)


def histogram(of: str | Term, bins: int, *, where: Term | None = None) -> Term:
    """Return a histogram of equal bins over public bounds: columns bin_low, bin_high and count."""
    return Term(marked_histogram(read(of), Literal(whole(bins, "bins", least=1, most=10**6)), kept(where)))
