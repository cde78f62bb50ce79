"""Breakages of privet.toml and of what custodians do with it."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "config.reading:_exactly",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ("Decimal(text)", "Decimal(float(text))"),
    ),
    *of(
        "config.reading:_config",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ("root.finish()", "pass"),
    ),
    *of(
        "config.reading:parse_config",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ("problems.places.todos", "()"),
    ),
    *of(
        "core.schema:Table.__init__",
        "unit/core/test_check_unit.py",
        ("(Person, Window, Link)", "(Person, Window)"),
        ("(Person, Window, Link)", "Person"),
        ("contribution is None and isinstance(who, (Person, Window, Link))", "contribution is None"),
    ),
    *of(
        "config.tables:_facts",
        "unit/config/test_reading.py",
        ("link is not None or (unit is not None and not unit.rowwise)", "unit is not None and not unit.rowwise"),
        ("link is not None or (unit is not None and not unit.rowwise)", "link is not None"),
    ),
    *of(
        "config.reading:_text",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ("stat.S_ISREG(file.stat().st_mode)", "file.exists()"),
    ),
    *of(
        "config.problems:Section.read",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        (
            "try:\n    ...\nexcept BadParameter as error:\n    ...\nexcept RequestError as error:\n    ...",
            "return default\n"
            "try:\n"
            "    ...\n"
            "except BadParameter as error:\n"
            "    ...\n"
            "except RequestError as error:\n"
            "    ...",
        ),
    ),
    *of(
        "config.problems:Section.finish",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ("unknown[:_SHOWN]", "unknown[:0]"),
    ),
    *of(
        "config.problems:Problems.add",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ('sign if sign.isprintable() else "?"', "sign"),
    ),
    *of(
        "config.tables:_column",
        "unit/config/test_reading.py",
        ("isinstance(value, int) and not -_INT64 <= value < _INT64", "False"),
    ),
    *of(
        "config.tables:_read_facts",
        "unit/config/test_reading.py",
        ("key in given and other not in given", "False"),
        (
            'section.problem(key, f"{kind} takes no {key}; leave it out, or write {_instead(kind, key)}")',
            'str(f"{kind} takes no {key}; leave it out, or write {_instead(kind, key)}")',
        ),
    ),
    *of(
        "config.reading:read_budget",
        "unit/config/test_reading.py",
        ("epsilon is not None and delta is not None", "epsilon is not None and delta is not None and not needed"),
    ),
    *of(
        "config.reading:read_rules",
        "unit/config/test_reading.py",
        ("type(most) is not type(budget)", "False"),
    ),
    *of(
        "config.reading:_fits_under",
        "unit/config/test_reading.py",
        ("isinstance(budget, Approximate)", "True"),
    ),
    *of(
        "config.reading:_names.read",
        "unit/config/test_reading.py",
        ("name not in known", "False"),
    ),
    *of(
        "config.tables:read_tables",
        "unit/config/test_reading.py",
        ('own | {"neighbors": neighbors_of(name, well)}', "own"),
    ),
    *of(
        "config.tables:_facts",
        "unit/config/test_reading.py",
        ('section.has("unit") and section.has("link")', "False"),
    ),
    *of(
        "config.tables:_check_names",
        "unit/config/test_reading.py",
        ("name.casefold() in folded", "False"),
    ),
    *of(
        "config.tables:_owner",
        "unit/config/test_reading.py",
        ("return None", "return name"),
    ),
    *of(
        "config.tables:_wrong",
        "unit/config/test_reading.py",
        ("columns[link.via].kind != others[link.column].kind", "False"),
    ),
    *of(
        "config.sessions:session_of",
        "unit/config/test_sessions.py",
        (
            "Session(tables, views=views_about(config.views, config.tables, about, config.schema), ledger=ledger, "
            "account=account, engine=engine, about=about, time_step=config.engine.time_step, schema=config.schema)",
            "Session(tables, views=views_about(config.views, config.tables, about, config.schema), ledger=ledger, "
            "account=account, engine=engine, time_step=config.engine.time_step, schema=config.schema)",
        ),
        (
            "Session(tables, views=views_about(config.views, config.tables, about, config.schema), ledger=ledger, "
            "account=account, engine=engine, about=about, time_step=config.engine.time_step, schema=config.schema)",
            "Session(tables, views=views_about(config.views, config.tables, about, config.schema), ledger=ledger, "
            "account=sorted(config.analysts or [account])[-1], engine=engine, about=about, "
            "time_step=config.engine.time_step, schema=config.schema)",
        ),
    ),
    *of(
        "config.sessions:LateEngine._engine",
        "unit/config/test_sessions.py",
        ("table.schema.unit.public or not public", "True"),
        ("public not in self._opened", "True"),
    ),
    *of(
        "config.sessions:LateEngine.check",
        "unit/config/test_sessions.py",
        ("self._engine(public=False).check(scan)", "pass"),
    ),
    *of(
        "config.sessions:account_of",
        "unit/config/test_sessions.py",
        ("{*config.analysts[analyst].tables, *config.public}", "config.tables"),
    ),
    *of(
        "config.sessions:_opened",
        "unit/config/test_sessions.py",
        (
            "kind_of_ledger(config.ledger.where).open(config.ledger.where, rules.budget, "
            "per_query=rules.per_query, expires=rules.expires, "
            "keys_share=rules.keys_share, head=config.ledger.head, **accounts)",
            "kind_of_ledger(config.ledger.where).open(config.ledger.where, rules.budget, expires=rules.expires, "
            "keys_share=rules.keys_share, head=config.ledger.head, **accounts)",
        ),
        (
            "kind_of_ledger(config.ledger.where).open(config.ledger.where, rules.budget, "
            "per_query=rules.per_query, expires=rules.expires, "
            "keys_share=rules.keys_share, head=config.ledger.head, **accounts)",
            "kind_of_ledger(config.ledger.where).open(config.ledger.where, rules.budget, "
            "per_query=rules.per_query, expires=rules.expires, "
            "keys_share=rules.keys_share, **accounts)",
        ),
    ),
    *of(
        "config.engine_kinds:_duckdb",
        "unit/config/test_sessions.py",
        (
            "DuckDB(tables, memory_limit=limits.memory_limit, threads=limits.threads, timeout=limits.timeout, "
            "scans=limits.scans, parts=limits.parts)",
            "DuckDB(tables, threads=limits.threads, timeout=limits.timeout, scans=limits.scans, parts=limits.parts)",
        ),
    ),
    *of(
        "config.sessions:_with_rows",
        "unit/config/test_practice.py",
        ("str(file)", "made.source"),
        ("replace(table.schema, version=VERSION)", "table.schema"),
    ),
    *of(
        "config.sessions:memory_ledger",
        "unit/config/test_practice.py",
        (
            "MemoryLedger(rules.budget, analysts={name: analyst.budget or rules.budget for name, analyst "
            "in config.analysts.items()}, per_query=rules.per_query, keys_share=rules.keys_share)",
            "MemoryLedger(rules.budget, analysts={name: analyst.budget or rules.budget for name, analyst "
            "in config.analysts.items()}, keys_share=rules.keys_share)",
        ),
    ),
    *of(
        "config.sessions:Fake.rows",
        "unit/config/test_practice.py",
        ("min(wanted, _ROWS, schema.rows, *ends)", "min(wanted, _ROWS, *ends)"),
    ),
    *of(
        "config.sessions:_drawn",
        "unit/config/test_practice.py",
        ("int(high - low) + 1", "int(high - low) + 2"),
    ),
    *of(
        "config.sessions:Fake._value",
        "unit/config/test_practice.py",
        ("column in self._unique[name]", "False"),
    ),
    *of(
        "config.sessions:Fake._units",
        "unit/config/test_practice.py",
        ("min(schema.units or _UNITS, _UNITS, schema.rows)", "_UNITS"),
    ),
    *of(
        "config.checking:fingerprint",
        "unit/config/test_fingerprint.py",
        ('code.update(os.fstat(file.fileno()).st_size.to_bytes(8, "big"))', "pass"),
        ("hmac.new(key, _DOMAIN, hashlib.sha256)", "hmac.new(b'', _DOMAIN, hashlib.sha256)"),
    ),
    *of(
        "config.checking:_create",
        "unit/config/test_fingerprint.py",
        (
            "os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)",
            "os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)",
        ),
    ),
    *of(
        "config.checking:compare",
        "unit/config/test_fingerprint.py",
        ("hmac.compare_digest(held, digest)", "held"),
    ),
    *of(
        "config.checking:read_key",
        "unit/config/test_fingerprint.py",
        ("mode & 0o077", "mode & 0"),
    ),
    *of(
        "config.checking:promise_in_words",
        "unit/config/test_checking.py",
        ('"change-one" if changed else "add-remove"', '"change-one"'),
    ),
    *of(
        "config.checking:_notes",
        "unit/config/test_checking.py",
        ("budget.delta > _LARGE_DELTA", "False"),
    ),
    *of(
        "accounting.summaries:promise",
        "unit/accounting/test_promise.py",
        ("2 * epsilon", "epsilon"),
        ("float(delta) * (1 + _exp(epsilon))", "float(delta)"),
    ),
    *of(
        "accounting.summaries:_up",
        "unit/accounting/test_promise.py",
        ("Context(prec=3, rounding=ROUND_CEILING)", 'Context(prec=3, rounding="ROUND_FLOOR")'),
    ),
    *of(
        "accounting.summaries:_percent",
        "unit/accounting/test_promise.py",
        ("math.ceil", "math.floor"),
    ),
    *of(
        "engines.inspection:_counted",
        "unit/config/test_checking.py",
        ("count > schema.rows", "count > 2 * schema.rows"),
        ("count != schema.units", "count > schema.units"),
        ("units_in(physical(schema)[schema.unit.column]) > schema.units", "False"),
    ),
    *of(
        "engines.duckdb.sources:_whole",
        "adversarial/test_person_columns.py",
        ("plain in _DOUBLES", "plain in _REAL"),
    ),
    *of(
        "engines.duckdb.sources:view_of",
        "adversarial/test_person_columns.py",
        ("column == person_column(schema.unit)", "False"),
    ),
    *of(
        "engines.duckdb.sources:files_of",
        "adversarial/test_exhaustion.py",
        (
            "'}, null_padding = true, strict_mode = false, ignore_errors = true, max_line_size = '",
            "'}, null_padding = true, strict_mode = false, ignore_errors = false, max_line_size = '",
        ),
    ),
    *of(
        "engines.duckdb.sources:_open_text",
        "adversarial/test_exhaustion.py",
        (
            'open(path, encoding="utf-8-sig", errors="surrogateescape", newline="")',
            'open(path, encoding="utf-8-sig", newline="")',
        ),
    ),
    *of(
        "core.schema:_owned",
        "adversarial/test_person_columns.py",
        ('kinds[0] == "number"', "False"),
    ),
    *of(
        "engines.duckdb.sources:_header",
        "adversarial/test_hostile_config.py",
        ("contextlib.suppress(OSError, EOFError, UnicodeError, csv.Error, zlib.error)", "contextlib.suppress(OSError)"),
    ),
    *of(
        "cli.init:_table",
        "unit/cli/test_init.py",
        ("if plain:\n    ...", "if False:\n    ..."),
        ("kinds.get(column) if plain else kind", "kind"),
    ),
    *of(
        "cli.init:command",
        "unit/cli/test_init.py",
        ('_is_there(output) and not said["force"]', "False"),
        ("wrong and not asks", "False"),
    ),
]
