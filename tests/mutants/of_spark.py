"""Breakages of the Spark engine, in what is written and read without a JVM."""

from __future__ import annotations

from mutant import Mutant, of

SQL = "unit/engines/test_spark_sql.py"

MUTANTS: list[Mutant] = [
    *of(
        "engines.scan_sql.windows:_Gathering._rows",
        SQL,
        ('self.dialect.together(rows, "u") if unit else rows', "rows"),
    ),
    *of(
        "engines.scan_sql.windows:_verify_divisions",
        SQL,
        ("bounding.limit * 4**bounding.shift >= _LARGEST", "False"),
    ),
    *of(
        "engines.scan_sql.windows:in_one_read",
        SQL,
        (
            "_WindowWriter(scan, relation, secret, dialect).write()",
            "Writer(scan, relation, secret, dialect).write()",
        ),
        (
            "_WindowProducts(scan, relation, secret, dialect, scan.products).write()",
            "ProductWriter(scan, relation, secret, dialect, scan.products).write()",
        ),
    ),
    *of("engines.scan_sql.windows:grouped_counts", SQL, ("weights[rows][order]", "weights[rows]")),
    *of(
        "engines.scan_sql.statement:Writer._fits_short",
        SQL,
        ("self.scan.schema.rows * most * 2**norm.shift <= INT64[1]", "True"),
    ),
    *of(
        "engines.dialects.spark:SparkDialect.floor",
        SQL,
        ('f"floor(CASE WHEN {sql} < {low} THEN {low} {inside} END)"', 'f"floor({sql})"'),
    ),
    *of(
        "engines.dialects.spark:SparkDialect.keyed_hash",
        SQL,
        ('(f"{column} IS NULL", column)', "(column,)"),
        ("[first, *parts, second]", "[first, *parts]"),
    ),
    *of("engines.dialects.spark:SparkDialect.sum", SQL, ("self.wide(sql)", "sql")),
    *of("engines.dialects.spark:SparkDialect.short_sum", SQL, ('f"try_sum({sql})"', 'f"sum({sql})"')),
    *of("engines.dialects.spark:text_literal", SQL, ("_PLAIN.fullmatch(char)", 'char != "\'"')),
    *of("engines.dialects.spark:_like", SQL, ("sign not in pattern", "True")),
    *of(
        "engines.spark.spark_sources:_trouble",
        SQL,
        ('owner and padded.startswith("char(")', "False"),
        ('stored == "timestamp" and kind in ("date", "timestamp", "text")', "False"),
        ('owner and kind == "number" and stored not in _DOUBLES', "False"),
    ),
    *of(
        "engines.spark.spark_sources:_cast",
        SQL,
        ('f"(CAST({sql} AS DOUBLE) + 0D)"', 'f"CAST({sql} AS DOUBLE)"'),
    ),
    *of("engines.spark.spark_engine:SparkEngine.check", SQL, ("self._failed", "False")),
    *of(
        "engines.spark.spark_engine:SparkEngine._verify_answers",
        SQL,
        ("self._failed = False", "pass"),
        ('self._fetch("SELECT 1")', "pass"),
    ),
    *of("engines.spark.spark_engine:SparkEngine._run", SQL, ("self._failed = True", "pass")),
    *of(
        "engines.duckdb.sources:_verify_deletes",
        "unit/engines/test_lakes.py",
        ('file.file_format.value == "PARQUET"', "True"),
        ("known = False", "known = True"),
    ),
    *of(
        "engines.duckdb.sources:verify_plain_files",
        "unit/engines/test_lakes.py",
        ('(folder / "_delta_log").is_dir()', "False"),
        ('any((folder / "metadata").glob("*.metadata.json"))', "False"),
        ("(Path(path).absolute(), *Path(path).absolute().parents)", "(Path(path).absolute(),)"),
    ),
    *of(
        "engines.duckdb.sources:files_of",
        "unit/engines/test_lakes.py",
        ("verify_plain_files(name, paths)", "pass"),
    ),
    *of("engines.spark.cluster:Spark.__repr__", SQL, ('f"sc://{urlsplit(self.remote).hostname}"', "self.remote")),
]
