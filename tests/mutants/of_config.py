"""Breakages of privet.toml and of what custodians do with it."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "config/reading.py",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        ("        return Decimal(text)\n", "        return Decimal(float(text))\n"),
        ("    root.finish()\n", "    pass\n"),
        ("    for line, what in problems.places.todos:\n", "    for line, what in ():\n"),
        ("if not stat.S_ISREG(file.stat().st_mode):", "if not file.exists():"),
    ),
    *of(
        "config/problems.py",
        "unit/config/test_reading.py adversarial/test_hostile_config.py",
        (
            "        if not self.has(key):\n            return default\n        try:",
            "        if not self.has(key):\n            return default\n        return default\n        try:",
        ),
        ("        for key in unknown[:_SHOWN]:\n", "        for key in unknown[:0]:\n"),
        ('sign if sign.isprintable() else "?" for sign in', "sign for sign in"),
    ),
    *of(
        "config/columns.py",
        "unit/config/test_reading.py",
        ("if isinstance(value, int) and not -_INT64 <= value < _INT64:", "if False:"),
        ("        if key in given and other not in given:\n", "        if False:\n"),
        ('            section.problem(key, f"{kind} takes no {key};', '            str(f"{kind} takes no {key};'),
    ),
    *of(
        "config/accounts.py",
        "unit/config/test_reading.py",
        (
            "if epsilon is not None and delta is not None:",
            "if epsilon is not None and delta is not None and not needed:",
        ),
        ("type(most) is not type(budget)", "False"),
        ("isinstance(budget, Approximate) or isinstance(cap, Pure)", "True or isinstance(cap, Pure)"),
        ("            if name not in known:\n", "            if False:\n"),
    ),
    *of(
        "config/tables.py",
        "unit/config/test_reading.py",
        ('| {"neighbors": neighbors_of(name, well)}', ""),
        ('    if section.has("unit") and section.has("link"):\n', "    if False:\n"),
        ("        if name.casefold() in folded:\n", "        if False:\n"),
    ),
    *of(
        "config/links.py",
        "unit/config/test_reading.py",
        ("        if name in seen:\n            return None\n", "        if name in seen:\n            return name\n"),
        ("    if columns[link.via].kind != others[link.column].kind:\n", "    if False:\n"),
    ),
    *of(
        "config/sessions.py",
        "unit/config/test_sessions.py",
        ("            about=about,\n", ""),
        ("frozenset({*config.analysts[analyst].tables, *config.public})", "frozenset(config.tables)"),
        ("        per_query=rules.per_query,\n", ""),
        ("        head=config.ledger.head,\n", ""),
        ("account=account,", "account=sorted(config.analysts or [account])[-1],"),
        ("memory_limit=limits.memory_limit, ", ""),
    ),
    *of(
        "config/practice.py",
        "unit/config/test_practice.py",
        ('    object.__setattr__(made, "source", str(file))\n', ""),
        ("replace(table.schema, version=VERSION)", "table.schema"),
        ("            per_query=rules.per_query,\n", ""),
    ),
    *of(
        "config/fake.py",
        "unit/config/test_practice.py",
        ("return min(wanted, _ROWS, schema.rows, *ends)", "return min(wanted, _ROWS, *ends)"),
        ("(int(low), int(high - low) + 1)", "(int(low), int(high - low) + 2)"),
        ("        if column in self._unique[name]:\n", "        if False:\n"),
        ("min(schema.units or _UNITS, _UNITS, schema.rows)", "_UNITS"),
    ),
    *of(
        "config/fingerprint.py",
        "unit/config/test_fingerprint.py",
        ('code.update(os.fstat(file.fileno()).st_size.to_bytes(8, "big"))', "pass"),
        ("code = hmac.new(key, _DOMAIN, hashlib.sha256)", "code = hmac.new(b'', _DOMAIN, hashlib.sha256)"),
        ("os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600", "os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644"),
        ("if hmac.compare_digest(held, found) else changed", "if held else changed"),
        ("mode & 0o077", "mode & 0"),
    ),
    *of(
        "config/words.py",
        "unit/config/test_checking.py",
        ('neighbors="change-one" if changed else "add-remove"', 'neighbors="change-one"'),
        ("budget.delta > _LARGE_DELTA", "False"),
    ),
    *of(
        "accounting/promise.py",
        "unit/accounting/test_promise.py",
        ("_factor(2 * epsilon)", "_factor(epsilon)"),
        ("float(delta) * (1 + _exp(epsilon))", "float(delta)"),
        ("rounding=ROUND_CEILING", 'rounding="ROUND_FLOOR"'),
        ("math.ceil(share * 1000)", "math.floor(share * 1000)"),
    ),
    *of(
        "engines/inspection.py",
        "unit/config/test_checking.py",
        ("    if count > schema.rows:\n", "    if count > 2 * schema.rows:\n"),
        ("count != schema.units", "count > schema.units"),
        ("        if units > schema.units:\n", "        if False:\n"),
    ),
    *of(
        "engines/sources.py",
        "adversarial/test_person_columns.py",
        ("if plain in _DOUBLES else sql", "if plain in _REAL else sql"),
        ("if column == person_column(schema.unit) and facts", "if False and facts"),
    ),
    *of(
        "engines/sources.py",
        "adversarial/test_exhaustion.py",
        ("ignore_errors = true, max_line_size", "ignore_errors = false, max_line_size"),
        ('open(path, encoding="utf-8-sig", errors="surrogateescape"', 'open(path, encoding="utf-8-sig"'),
    ),
    *of(
        "core/links.py",
        "adversarial/test_person_columns.py",
        ('if kinds[0] == "number":', "if False:"),
    ),
    *of(
        "engines/sources.py",
        "adversarial/test_hostile_config.py",
        (
            "contextlib.suppress(OSError, EOFError, UnicodeError, csv.Error, zlib.error), _open_text",
            "contextlib.suppress(OSError), _open_text",
        ),
    ),
    *of(
        "cli/init_tables.py",
        "unit/cli/test_init.py",
        ("    if plain:\n        _check_header", "    if False:\n        _check_header"),
        ("None if plain else kind", "kind"),
    ),
    *of(
        "cli/init.py",
        "unit/cli/test_init.py",
        ('    if _is_there(output) and not said["force"]:\n', "    if False:\n"),
        ("    if wrong and not asks:\n", "    if False:\n"),
    ),
]
