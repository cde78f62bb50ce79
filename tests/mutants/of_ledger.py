"""Breakages of the ledger: who pays, what is kept, what is proven."""

from __future__ import annotations

from mutant import Mutant, of

RULES = "conformance/test_ledgers.py"
FILES = "unit/ledger/test_sqlite_ledger.py"
TAMPERING = "adversarial/test_ledger_tampering.py"
FAULTS = "adversarial/test_ledger_faults.py"
IDENTITY = "adversarial/test_ledger_files.py"
FOLDER = "adversarial/test_ledger_folder.py"
SPENT_TWICE = f"{IDENTITY}::test_two_processes_never_spend_one_budget_twice_whatever_happens_to_its_files"
IN_THE_MIDDLE = f"{IDENTITY}::test_a_log_that_is_removed_in_the_middle_of_a_charge_frees_nothing"
ACCOUNTS = "unit/ledger/test_accounts.py"
SESSIONS = "unit/ledger/test_session_with_ledger.py"

MUTANTS: list[Mutant] = [
    *of(
        "ledger/bookkeeping.py",
        f"{RULES} {TAMPERING}",
        ("(record.digest, record.account) != (receipt.digest, receipt.account)", "record.digest != receipt.digest"),
        ("    if charge.digest != digest:", "    if False:"),
        ("            earlier = page.answer_to(receipt.digest)\n", "            earlier = None\n"),
        ("if not _failed(page, number, name)}", "}"),
        ("            if earlier is None:\n                earlier = paid.get(account)\n", ""),
        ("            state.check_open(account, now)\n            if earlier", "            if earlier"),
        ("by_dataset=state.whole.price(event) if shared is None else None", "by_dataset=None"),
        ("by_account=None if own is None else own.price(event)", "by_account=None"),
        ("return number if shared is None else shared", "return number"),
        ("check_query(event, state.opened.per_query)\n            own", "pass\n            own"),
        ("event = codec.read_event(written)\n", "pass\n"),
        ("if any(_charge(page, number).event_data != event_data for", "if any(False for"),
        ("        raise _misfiled(number)\n    if charge.digest", "        pass\n    if charge.digest"),
        ("str(page.head_at(max(charge, answer)))", "str(page.head_at(charge))"),
    ),
    *of(
        "ledger/account.py",
        f"{RULES} {ACCOUNTS}",
        ("if within_cap(take(one, payment.amounts)):", "if True:"),
        ("return (math.inf if event.slack() else event.pure(),)", "return (event.pure(),)"),
        ("return (math.inf if event.slack() else event.rho(),)", "return (event.rho(),)"),
        ("compact(total + amount)", "Fraction(float(total + amount))"),
        ("return delta <= one.keys_delta and (", "return True and ("),
        ("if not all(map(within_cap, self.filters)):", "if False:"),
        ("max(Fraction(one), Fraction(other)) / 2**40", "max(Fraction(one), Fraction(other)) / 2"),
        (
            "return replace(self, filters=(*self.filters, open_cap(cap)))",
            "return replace(self, filters=(open_cap(cap),))",
        ),
    ),
    *of(
        "ledger/state.py",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        ("whole = self.whole if dataset is None else self.whole.pay(dataset)", "whole = self.whole"),
        ("accounts = {**accounts, charge.account: own.pay(charge.by_account)}", "pass"),
        ("self.check_open(written.record.account, written.time)", "pass"),
        ("(self.time is not None and written.time < self.time)", "False"),
        ("            self.check_spent()  # before there is more to spend", "            pass"),
        ("end is not None and now >= end for end", "False for end"),
        ("self.failures.get(account, 0) >= FREEZES", "False"),
        ("if (dataset is None) != (charge.shared is not None) or", "if"),
        ("if name in self.accounts:", "if False:"),
    ),
    *of(
        "ledger/checks.py",
        f"{ACCOUNTS} {TAMPERING}",
        ("            or paid.shared is not None\n", ""),
        ("if digest in self.answers:", "if False:"),
        ("if (charge.account, charge.key) in self.keys:", "if False:"),
        ("if not enough(payment.amounts, self._prices[name]):", "if False:"),
        ("charge.account != account or", "False or"),
    ),
    *of(
        "ledger/rules.py",
        RULES,
        ("    if cost > cap:", "    if False:"),
        ("if state.time - now > LARGEST_STEP_BACK:", "if False:"),
        ("or expires.tzinfo is None", ""),
        ("or _NO_CHARACTER.search(value)", ""),
    ),
    *of(
        "ledger/custody.py",
        RULES,
        ("            target.top_up(cap)\n", ""),
        ("            page.state.check_under(cap.budget)\n", ""),
        ("if not page.state.failures.get(account):", "if False:"),
    ),
    *of(
        "ledger/codec.py",
        f"{RULES} {ACCOUNTS}",
        ("if value.denominator == bottom and value.numerator == top and", "if"),
        ("    if amount < 0:", "    if False:"),
        ('or data["v"] != wire.version:', "or False:"),
        ('if data.keys() != {"type", "v", *wire.fields}:', "if False:"),
        ("_NAMES.get(type(event))", "next((_NAMES[kind] for kind in type(event).__mro__ if kind in _NAMES), None)"),
        (
            "return value if value.bit_length() <= 63 else",
            "return float(value) if value.bit_length() > 63 else value or",
        ),
    ),
    *of(
        "ledger/entries.py",
        f"{ACCOUNTS} {TAMPERING}",
        ("and canonical(data) == body:", ":"),
        ('    if data.keys() != _FIELDS.get((data["v"], kind)):', "    if False:"),
    ),
    *of(
        "ledger/entries_rules.py",
        f"{ACCOUNTS} {RULES} {FILES}",
        ("or not _TIME.fullmatch(text):", ":"),
        ('lambda data: Limited(_read_most(data["per_query"])', "lambda data: Limited(None"),
        ('Rescheduled(maybe_text(data["account"]), ', "Rescheduled(None, "),
    ),
    *of(
        "ledger/chain.py",
        f"{ACCOUNTS} {TAMPERING}",
        ("or link(head.hash, body) != digest:", ":"),
        ("hashlib.sha256(_DOMAIN + previous + body", "hashlib.sha256(_DOMAIN + body"),
        ("if number != head.number + 1 or", "if"),
    ),
    *of(
        "ledger/pages.py",
        f"{TAMPERING} {FILES}",
        ("!= state.head:\n            raise LedgerError(", "!= state.head and False:\n            raise LedgerError("),
        ("        checks.add(written, state)\n", ""),
        ("    state.check_spent()\n    return state", "    return state"),
        ("        if (kind, account, digest, key) != _about(written.record):", "        if False:"),
        ("_checksum(text, body, *bodies) != checksum", "False"),
        ("checksum = _checksum(head, body, *rules_up_to(connection, state.head.number))", "checksum = b''"),
        ("            met = met or head == pinned", "            met = True"),
        ("cached.head.number == number and not cached.agrees(state):", "False:"),
        ("found = follow(head, *row)", "found = Head(number, row[2])"),
    ),
    *of(
        "ledger/schema.py",
        f"{TAMPERING} {FILES} golden/test_old_ledgers.py",
        ("    if application != APPLICATION:", "    if False:"),
        ("    if version > VERSION:", "    if False:"),
        ("    if _tables(connection) != _expected():", "    if False:"),
        ('    if sound != "ok":', "    if False:"),
        ("SELECT RAISE(ABORT, 'entries are never changed')", "SELECT 1"),
        ("SELECT RAISE(ABORT, 'entries are never removed')", "SELECT 1"),
        ("SELECT RAISE(ABORT, 'entries are only added')", "SELECT 1"),
        ("        for step in range(read_version(connection), VERSION):", "        for step in ():"),
    ),
    *of(
        "ledger/files.py",
        f"{FAULTS} {FILES}",
        ('"PRAGMA synchronous = FULL"', '"PRAGMA synchronous = NORMAL"'),
        ("os.O_RDWR, 0o600)", "os.O_RDWR, 0o644)"),
        ("            if busy:", "            if False:"),
    ),
    *of(
        "ledger/place.py",
        FAULTS,
        ("if _NETWORK.fullmatch(kind) or _NETWORK_OVER_FUSE.fullmatch(kind):", "if False:"),
        ("found.st_mode & 0o077:", "found.st_mode & 0o007:"),
        ("    if names > 1:", "    if False:"),
        ("    if found != known:", "    if False:"),
        ("and len(point) >= len(best):", "and not best:"),
    ),
    *of(
        "ledger/sqlite.py",
        f"{FAULTS} {FILES} {TAMPERING}",
        ("            if not proof.holds(pinned):", "            if False:"),
        ("                schema.check_tables(connection)\n", ""),
        ("            schema.check_guards(connection)\n", ""),
    ),
    *of(
        "ledger/sqlite.py",
        IDENTITY,
        (
            "                yield pages\n                check_same(self.path, self._identity)\n",
            "                yield pages\n",
        ),
        ("                write_back(connection, self._timeout)\n", ""),
        (
            "                abandon(connection)\n            else:",
            "                connection.close()\n            else:",
        ),
        ("        if time.monotonic() - began > LONG_LOOK:", "        if False:"),
    ),
    *of(
        "ledger/place.py",
        SPENT_TWICE,
        ("""for suffix in ("", *LOGS)[: len(known)])""", """for suffix in ("",)) + known[1:]"""),
        ("        found = os.lstat(path)", "        found = os.stat(path)"),
    ),
    *of(
        "ledger/folder.py",
        f"{FOLDER} {FAULTS}",
        ("found.st_mode & stat.S_IWOTH or", "False or"),
        ("(found.st_mode & stat.S_IWGRP and _shared(place, found))", "False"),
        ("    for place in (folder, *folder.parents):", "    for place in (folder,):"),
        ("        if not own and found.st_mode", "        if found.st_mode"),
        ("    except KeyError:\n        return True", "    except KeyError:\n        return False"),
        ("return not members <= trusted or any(", "return any("),
        ("user.pw_gid == found.st_gid and", "False and"),
        ("Path(os.path.realpath(path))", "Path(os.path.abspath(path))"),
    ),
    *of(
        "ledger/folder.py",
        IN_THE_MIDDLE,
        ("fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    ),
    *of(
        "ledger/sqlite.py",
        IN_THE_MIDDLE,
        ("            alone.enter_context(charging_alone(self.path.parent, self._timeout))\n", ""),
    ),
    *of(
        "ledger/pages.py",
        TAMPERING,
        ("(cached_state(connection) if proven is None else None)", "cached_state(connection)"),
        ("self._proven[32 * (number - 1) : 32 * number] != found.hash:", "False:"),
    ),
    *of(
        "ledger/proof.py",
        TAMPERING,
        ("[32 * (head.number - 1) : 32 * head.number] == head.hash", "[:32] != b''"),
        ("and head_at(connection, last.number) == last:", ":"),
        ("    remember(file, proof)\n    return proof", "    return proof"),
    ),
    *of(
        "ledger/shown.py",
        "adversarial/test_ledger_shown.py",
        ("    if not whole:", "    if False:"),
        ("return all(map(math.isfinite, numbers))", "return True"),
    ),
    *of(
        "ledger/account.py",
        "adversarial/test_ledger_shown.py",
        ("if not all(_LEAST <= amount <= _MOST for", "if not all(True for"),
    ),
    *of(
        "ledger/agreement.py",
        FILES,
        ("not in held:", "in ():"),
        ("if limit != rules.per_query and", "if False and"),
        ("    if cap not in (opened_with, now):", "    if False:"),
    ),
    *of(
        "ledger/forking.py",
        FILES,
        ("        _WAITING.append(holder)\n        holder._let_go()\n", "        _WAITING.append(holder)\n"),
    ),
    *of(
        "ledger/memory.py",
        RULES,
        ("        with self._lock:\n            yield self._page", "        yield self._page"),
        ("            self._keys[record.key, record.account] = written.number", "            pass"),
    ),
    *of(
        "session.py",
        f"{SESSIONS} adversarial/test_session_road.py",
        ("(self._find(plan) if key is None else None) or", "self._find(plan) or"),
    ),
    *of(
        "road.py",
        f"{SESSIONS} adversarial/test_session_road.py",
        (
            "            return stored\n        released = _alone(lambda: self._drawn(plan",
            "            pass\n        released = _alone(lambda: self._drawn(plan",
        ),
        ("            self._ledger.fail(receipt)\n", ""),
        ("return self._find(plan) or (receipt, _unpacked(kept))", "return receipt, released"),
    ),
    *of(
        "several.py",
        "adversarial/test_batches.py",
        ("            verify(plan, self._schemas)\n", "            pass\n"),
    ),
]
