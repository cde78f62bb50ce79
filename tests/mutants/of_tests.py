"""Breakages of tests on released numbers: statistics, null laws, intervals, and what plans say about the rows."""

from __future__ import annotations

from mutant import Mutant, of

TABLES = "unit/inference/test_table_tests.py"
LEVELS = "statistical/test_chi_squared_levels.py"
SESSIONS = "unit/study/test_chi_squared_session.py"
RANKS = "unit/study/test_rank_tests.py"

MUTANTS: list[Mutant] = [
    *of(
        "inference.noisy_tables:projected",
        TABLES,
        ("1 / (model.each * expected + model.variance)", "1 / (model.each * expected)"),
        ("statistic + along * total**2", "statistic"),
        ("tables + ((sizes - tables.sum((1, 2))) / shares[0].size)[:, None, None]", "tables"),
    ),
    *of(
        "inference.noisy_tables:_basis",
        TABLES,
        ("everything[:, :1] if model.size is None else everything[:, :0]", "everything[:, :0]"),
    ),
    *of(
        "inference.table_tests:finding_of_table",
        TABLES,
        ('chosen == "auto" and smooth', 'chosen == "auto"'),
        ('chosen == "naive"', 'chosen == ""'),
    ),
    *of(
        "inference.table_tests:_share_beyond",
        f"{TABLES} {LEVELS}",
        ("table.noise.at(points.uniform(shape))", "0"),
        ("(1 + beyond) / (number + 1)", "beyond / number"),
    ),
    *of(
        "inference.noisy_tables:CellNoise.at",
        TABLES,
        ("(drawn + self.law.finer // 2) // self.law.finer", "drawn"),
    ),
    *of("inference.noisy_tables:FixedPoints.__init__", TABLES, ("repr(released).encode()", "b''")),
    *of(
        "inference.table_tests:share_intervals.outside",
        LEVELS,
        ("np.sqrt(each * size * share * (1 - share))", "0 * share"),
        ("beyond(away, spread, 1 - share, share, noise)", "beyond(away, spread, 0 * share, 0 * share, noise)"),
    ),
    *of("inference.table_tests:beyond", LEVELS, ("(1 - weight) * above(small)", "0")),
    *of("inference.noisy_tables:_explained", TABLES, ("(slope**2 / diagonal).sum(1)", "0")),
    *of(
        "study.counted_tables:rows_of_each",
        SESSIONS,
        ("groups * rows", "1"),
    ),
    *of("study.counted_tables:TableHypothesis.check_plan", SESSIONS, ("rows_of_each(plan)", "None")),
    *of(
        "inference.histogram_tests:standard_ranks",
        RANKS,
        ("np.maximum(noise, least)", "0"),
        ("each * m * n * (m + n) * spread", "0"),
        ("np.clip(spread, _LEAST_SPREAD, 1 / 3)", "1 / 3 + 0 * spread"),
    ),
    *of(
        "inference.histogram_tests:_probability",
        RANKS,
        ("np.sqrt(noise + sampled)", "np.sqrt(sampled)"),
        ("0.5 + ranks / (m * n)", "0.5 - ranks / (m * n)"),
    ),
    *of("study.counted_tables:public_size", SESSIONS, ("query.where is not None", "False")),
    *of("study.counted_tables:declared_values", SESSIONS, ("cells > MOST_CELLS", "False")),
]
