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
STORES = "conformance/test_stores.py"
SESSIONS = "unit/ledger/test_session_with_ledger.py"
STEPS = "unit/ledger/test_steps.py"

BLOCKS = "unit/ledger/test_block_charges.py"

MUTANTS: list[Mutant] = [
    *of(
        "ledger.account:DivisionSums.add",
        BLOCKS,
        ("_pairs(touched.ranges)", "touched.ranges"),
        ("max(self.reach, touched.reach)", "self.reach"),
    ),
    *of(
        "ledger.account:_raise",
        BLOCKS,
        ("plus(value, amounts)", "amounts"),
        ("[(end, last)]", "[(end, nothing)]"),
    ),
    *of(
        "ledger.account:_largest_of",
        BLOCKS,
        ("not _inside(pair[1], grown, starts)", "True"),
        ("range(start, min(end, start + kept))", "range(start, start + 1)"),
    ),
    *of(
        "ledger.account:DivisionSums.worst",
        BLOCKS,
        ('self.reach if self.members == "windows" else 1', "1"),
    ),
    *of(
        "ledger.account:BlockSums.worst",
        BLOCKS,
        ("reduce(plus, paid)", "_largest(paid)"),
    ),
    *of(
        "ledger.account:Account._load_after",
        BLOCKS,
        ("plus(worst, payment.amounts)", "payment.amounts"),
    ),
    *of(
        "ledger.account:Account.loaded",
        BLOCKS,
        ("self.blocks.get(index, NO_BLOCKS).worst() if self.blocks else None", "None"),
    ),
    *of(
        "ledger.account:Account._left",
        BLOCKS,
        ("_down(left.largest_epsilon, share)", "left.largest_epsilon"),
    ),
    *of(
        "ledger.bookkeeping:_of_one_cost",
        BLOCKS,
        ("(charge.event_data, charge.blocks) != due", "charge.event_data != due[0]"),
    ),
    *of(
        "query.block_reads:divided",
        "laws/test_blocks.py",
        ("conjunction(inside, same)", "inside"),
    ),
    *of(
        "query.block_reads:members_of",
        f"unit/test_blocks_session.py {BLOCKS} laws/test_blocks.py",
        ('2 if schema.neighbors == "change-one" else 1', "1"),
        ("not blocks.timed", "True"),
    ),
    *of(
        "query.block_reads:_divides",
        "laws/test_blocks.py",
        ("ranges and divided(source, ranges, schema) == relation", "ranges"),
    ),
    *of(
        "query.block_reads:blocks_read",
        "laws/test_blocks.py",
        ("read is None", "False"),
    ),
    *of(
        "query.block_reads:check_retired",
        "laws/test_blocks.py",
        ("None in every or not kept.issuperset(named)", "False"),
    ),
    *of(
        "query.block_reads:ranges_of",
        "laws/test_blocks.py",
        ("number >= live", "True"),
    ),
    *of(
        "planner.touching:with_blocks",
        "laws/test_blocks.py",
        ("divided(name, ranges, schema)", "name"),
        ("region.either(part)", "part"),
    ),
    *of(
        "planner.touching:_at",
        "laws/test_blocks.py",
        ("below.get(expression.column, EVERY).both(above[made])", "EVERY"),
    ),
    *of(
        "core.division:Blocks.identity",
        "unit/test_blocks_session.py",
        ("facts.high", "None"),
        ("unit.column if isinstance(unit, Person) else None", "None"),
    ),
    *of(
        "planner.touching:_beyond",
        "unit/test_blocks_session.py",
        ("cuts[-1][1], LAST", "LAST, LAST"),
    ),
    *of(
        "query.shape:_label_of",
        "unit/test_blocks_session.py",
        ('"growing" if grows else ""', '""'),
    ),
    *of(
        "execution.executor:Executor.touched",
        "unit/test_blocks_session.py",
        ("[pass_.scan.table for plan in plans for pass_ in plan.passes]", "[]"),
    ),
    *of(
        "execution.rolling:_stacked",
        "unit/test_blocks_session.py",
        ("_law(errors, answers).reach(1 - confidence)", "sum(errors) * 2"),
    ),
    *of(
        "execution.rolling:check_additive",
        "unit/test_blocks_session.py",
        ("not reading.aggregate.additive or len(reading.places) != 1", "False"),
    ),
    *of(
        "ledger.bookkeeping:Bookkeeping._check_receipt",
        f"{RULES} {TAMPERING}",
        ("(record.digest, record.account) != (receipt.digest, receipt.account)", "record.digest != receipt.digest"),
    ),
    *of(
        "ledger.bookkeeping:_keyed",
        f"{RULES} {TAMPERING}",
        ("charge.digest != digest", "False"),
        ("raise _misfiled(number)", "pass"),
    ),
    *of(
        "ledger.bookkeeping:Bookkeeping.store",
        f"{RULES} {TAMPERING}",
        ("history.answer_to(receipt.digest)", "None"),
    ),
    *of(
        "ledger.bookkeeping:_paid_for",
        f"{RULES} {TAMPERING}",
        (
            "{name: number for name, number in last.items() if not _failed(history, number, name)}",
            "{name: number for name, number in last.items()}",
        ),
    ),
    *of(
        "ledger.bookkeeping:Bookkeeping.charge",
        f"{RULES} {TAMPERING}",
        ("if earlier is None: earlier = paid.get(account)", ""),
        ("state.check_open(account, now)", ""),
        ("state.whole.price(event, blocks) if shared is None else None", "None"),
        ("None if own is None else own.price(event, blocks)", "None"),
        ("check_query(event, state.opened.per_query)", "pass"),
        ("event = codec.read_event(written)", "pass"),
    ),
    *of(
        "ledger.bookkeeping:_in_full",
        f"{RULES} {TAMPERING}",
        ("number if shared is None else shared", "number"),
    ),
    *of(
        "ledger.bookkeeping:_of_one_cost",
        f"{RULES} {TAMPERING}",
        ("(charge.event_data, charge.blocks) != due", "False"),
    ),
    *of(
        "ledger.bookkeeping:_receipt",
        f"{RULES} {TAMPERING}",
        ("max(charge, answer)", "charge"),
    ),
    *of(
        "ledger.account:Account.price",
        f"{RULES} {ACCOUNTS}",
        ("within_cap(self._loaded_after(payment, touched))", "True"),
    ),
    *of(
        "ledger.account:amounts",
        f"{RULES} {ACCOUNTS}",
        ("math.inf if event.slack() else event.pure()", "event.pure()"),
        ("math.inf if event.slack() else event.rho()", "event.rho()"),
    ),
    *of(
        "ledger.account:add",
        f"{RULES} {ACCOUNTS}",
        ("compact(total + amount)", "Fraction(float(total + amount))"),
    ),
    *of(
        "ledger.account:within_cap",
        f"{RULES} {ACCOUNTS}",
        ("delta <= for_keys", "True"),
    ),
    *of(
        "ledger.account:Account.check_spent",
        f"{RULES} {ACCOUNTS}",
        ("not all(within_cap(self.loaded(index)) for index in range(len(self.filters)))", "False"),
    ),
    *of(
        "ledger.account:_close",
        f"{RULES} {ACCOUNTS}",
        ("2**40", "2"),
    ),
    *of(
        "ledger.account:Account.top_up",
        f"{RULES} {ACCOUNTS}",
        ("(*self.filters, open_cap(cap))", "(open_cap(cap),)"),
    ),
    *of(
        "ledger.state:State._charged",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        ("self.whole if dataset is None else self.whole.pay(dataset, charge.blocks)", "self.whole"),
        ("accounts = {**accounts, charge.account: own.pay(charge.by_account, charge.blocks)}", "pass"),
    ),
    *of(
        "ledger.state:State.apply",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        ("self.check_open(written.record.account, written.time)", "pass"),
        ("self.time is not None and written.time < self.time", "False"),
    ),
    *of(
        "ledger.state:State._after",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        ("self.check_spent()", "pass"),
        ("name in self.accounts", "False"),
    ),
    *of(
        "ledger.state:State.check_going_on",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        ("end is not None and now >= end", "False"),
    ),
    *of(
        "ledger.state:State.is_frozen",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        ("self.failures.get(account, 0) >= FREEZES", "False"),
    ),
    *of(
        "ledger.state:State.check_paid",
        f"{RULES} {ACCOUNTS} {TAMPERING}",
        (
            "(dataset is None) != (charge.shared is not None) or (charge.by_account is None) != (own is None)",
            "(charge.by_account is None) != (own is None)",
        ),
    ),
    *of(
        "ledger.fold:Checks._repeats",
        f"{ACCOUNTS} {TAMPERING}",
        (
            "self.charges.get(number, ())[1:] != (charge.digest, event, True)",
            "self.charges.get(number, ())[1:3] != (charge.digest, event)",
        ),
    ),
    *of(
        "ledger.fold:Checks.add",
        f"{ACCOUNTS} {TAMPERING}",
        ("digest in self.answers", "False"),
        ("(charge.account, charge.key) in self.keys", "False"),
    ),
    *of(
        "ledger.fold:Checks._priced",
        f"{ACCOUNTS} {TAMPERING}",
        ("not enough(payment.amounts, self._prices[name])", "False"),
    ),
    *of(
        "ledger.fold:Checks._paid",
        f"{ACCOUNTS} {TAMPERING}",
        ("charge[0] != account", "False"),
    ),
    *of(
        "ledger.state:check_query",
        RULES,
        ("cost > cap", "False"),
    ),
    *of(
        "ledger.state:next_time",
        RULES,
        ("state.time - now > LARGEST_STEP_BACK", "False"),
    ),
    *of(
        "ledger.state:read_expiry",
        RULES,
        ('moment(expires, "expires")', "expires"),
    ),
    *of(
        "ledger.state:read_name",
        RULES,
        (
            "not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME or "
            "_NO_CHARACTER.search(value)",
            "not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME",
        ),
    ),
    *of(
        "ledger.state:read_text",
        RULES,
        ("not isinstance(value, str) or _NO_CHARACTER.search(value)", "not isinstance(value, str)"),
    ),
    *of(
        "ledger.admin:Administration.top_up",
        RULES,
        ("target.top_up(cap)", ""),
    ),
    *of(
        "ledger.admin:Administration.open_account",
        RULES,
        ("history.state.check_under(cap.budget)", ""),
    ),
    *of(
        "ledger.admin:Administration.clear",
        RULES,
        ("not history.state.failures.get(account)", "False"),
    ),
    *of(
        "ledger.codec:read_rational",
        f"{RULES} {ACCOUNTS}",
        ('value.denominator == bottom and value.numerator == top and below != "1"', 'below != "1"'),
    ),
    *of(
        "ledger.codec:_read_amount",
        f"{RULES} {ACCOUNTS}",
        ("amount < 0", "False"),
    ),
    *of(
        "ledger.codec:read_event",
        f"{RULES} {ACCOUNTS}",
        ('data["v"] != wire.version', "False"),
        ('data.keys() != {"type", "v", *wire.fields}', "False"),
    ),
    *of(
        "ledger.codec:write_event",
        f"{RULES} {ACCOUNTS}",
        ("_NAMES.get(type(event))", "next((_NAMES[kind] for kind in type(event).__mro__ if kind in _NAMES), None)"),
    ),
    *of(
        "ledger.codec:write_plain",
        f"{RULES} {ACCOUNTS}",
        (
            'value if value.bit_length() <= 63 else {"integer": _digits(value)}',
            'float(value) if value.bit_length() > 63 else value or {"integer": _digits(value)}',
        ),
    ),
    *of(
        "ledger.entries:_parsed",
        f"{ACCOUNTS} {TAMPERING}",
        ("isinstance(data, dict) and canonical(data) == body", "isinstance(data, dict)"),
    ),
    *of(
        "ledger.entries:_quickly",
        f"{ACCOUNTS} {TAMPERING}",
        ('type(data) is dict and _ENCODER.encode(data) == body.encode("ascii")', "type(data) is dict"),
    ),
    *of(
        "ledger.entries:read_entry",
        f"{ACCOUNTS} {TAMPERING}",
        ('data.keys() != _FIELDS.get((data["v"], kind))', "False"),
    ),
    *of(
        "ledger.entries:read_time",
        f"{ACCOUNTS} {RULES} {FILES}",
        ("not isinstance(text, str) or not _TIME.fullmatch(text)", "not isinstance(text, str)"),
    ),
    *of(
        "ledger.entries:",
        f"{ACCOUNTS} {RULES} {FILES}",
        ('_read_most(data["per_query"])', "None"),
        ('maybe_text(data["account"])', "None"),
    ),
    *of(
        "ledger.codec:follow",
        f"{ACCOUNTS} {TAMPERING}",
        (
            "number != head.number + 1 or not isinstance(body, str) or not body.isascii() or "
            "link(head.hash, body) != digest",
            "number != head.number + 1 or not isinstance(body, str) or not body.isascii()",
        ),
        (
            "number != head.number + 1 or not isinstance(body, str) or not body.isascii() or "
            "link(head.hash, body) != digest",
            "not isinstance(body, str) or not body.isascii() or link(head.hash, body) != digest",
        ),
    ),
    *of(
        "ledger.codec:link",
        f"{ACCOUNTS} {TAMPERING}",
        ("_DOMAIN + previous", "_DOMAIN"),
    ),
    *of(
        "ledger.history:History.__init__",
        f"{TAMPERING} {FILES}",
        (
            "state.head.number and self.head_at(state.head.number) != state.head",
            "state.head.number and self.head_at(state.head.number) != state.head and False",
        ),
    ),
    *of(
        "ledger.history:verify_rows",
        f"{TAMPERING} {FILES} {STORES}",
        ("checks.add(written, replay.rules)", ""),
        ("state.check_spent()", ""),
        ("(kind, account, digest, key) != _about(written.record)", "False"),
        (
            "cached is not None and cached.head.number == number and not cached.agrees(replay.state)",
            "cached is not None and False",
        ),
    ),
    *of(
        "ledger.history:_restored",
        f"{TAMPERING} {FILES}",
        ("_checksum(text, body, *bodies) != checksum", "False"),
    ),
    *of(
        "ledger.history:write_cache",
        f"{TAMPERING} {FILES}",
        ("_checksum(head, body, *transaction.rules_up_to(state.head.number))", "b''"),
    ),
    *of(
        "ledger.history:History.add_lines",
        f"{TAMPERING} {FILES}",
        ("met or head == pinned", "True"),
    ),
    *of(
        "ledger.history:History.read",
        f"{TAMPERING} {FILES}",
        ("follow(head, row.number, row.body, row.hash)", "Head(number, row.hash)"),
    ),
    *of(
        "ledger.sqlite.transaction:read_version",
        f"{TAMPERING} {FILES} golden/test_old_ledgers.py",
        ("application != APPLICATION", "False"),
        ("version > VERSION", "False"),
    ),
    *of(
        "ledger.sqlite.transaction:check_guards",
        f"{TAMPERING} {FILES} golden/test_old_ledgers.py",
        ("_tables(connection) != _expected()", "False"),
    ),
    *of(
        "ledger.sqlite.transaction:check_tables",
        f"{TAMPERING} {FILES} golden/test_old_ledgers.py",
        ('sound != "ok"', "False"),
    ),
    *of(
        "ledger.sqlite.transaction:",
        f"{TAMPERING} {FILES} golden/test_old_ledgers.py",
        (
            '"CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries\\nBEGIN SELECT '
            "RAISE(ABORT, 'entries are never changed'); END\"",
            "'CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries\\nBEGIN SELECT 1; END'",
        ),
        (
            '"CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries\\nBEGIN SELECT '
            "RAISE(ABORT, 'entries are never removed'); END\"",
            "'CREATE TRIGGER entries_are_never_removed BEFORE DELETE ON entries\\nBEGIN SELECT 1; END'",
        ),
        (
            '"CREATE TRIGGER entries_are_only_added BEFORE INSERT ON entries\\nWHEN NEW.number IS '
            "NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)\\nBEGIN SELECT RAISE(ABORT, "
            "'entries are only added'); END\"",
            "'CREATE TRIGGER entries_are_only_added BEFORE INSERT ON entries\\nWHEN NEW.number IS "
            "NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)\\nBEGIN SELECT 1; END'",
        ),
    ),
    *of(
        "ledger.sqlite.transaction:migrate",
        f"{TAMPERING} {FILES} golden/test_old_ledgers.py",
        ("range(read_version(connection), VERSION)", "()"),
    ),
    *of(
        "ledger.sqlite.place:connect",
        f"{FAULTS} {FILES}",
        ('"PRAGMA synchronous = FULL"', '"PRAGMA synchronous = NORMAL"'),
    ),
    *of(
        "ledger.sqlite.place:new_file",
        f"{FAULTS} {FILES}",
        (
            "os.open(inside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)",
            "os.open(inside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)",
        ),
    ),
    *of(
        "ledger.sqlite.place:create",
        f"{FAULTS} {FILES}",
        ("if busy:\n    ...", "if False:\n    ..."),
    ),
    *of(
        "ledger.sqlite.place:check_place",
        FAULTS,
        ("_NETWORK.fullmatch(kind) or _NETWORK_OVER_FUSE.fullmatch(kind)", "False"),
    ),
    *of(
        "ledger.sqlite.place:check_file",
        FAULTS,
        ("status.st_mode & 0o077", "status.st_mode & 0o007"),
        ("names > 1", "False"),
    ),
    *of(
        "ledger.sqlite.place:check_same",
        FAULTS,
        ("current != known", "False"),
    ),
    *of(
        "ledger.sqlite.place:mount_kind",
        FAULTS,
        ("len(point) >= len(best)", "not best"),
    ),
    *of(
        "ledger.history:StoredHistory.pin",
        f"{FAULTS} {FILES} {TAMPERING}",
        ("not proof.holds(pinned)", "False"),
        ("remember(identity, proof)", ""),
        (
            "History(transaction, self._clock, proof.state, hashes)",
            "History(transaction, self._clock, None)",
        ),
    ),
    *of(
        "ledger.history:StoredHistory.verify",
        f"{FAULTS} {FILES} {TAMPERING}",
        ("transaction.check()", ""),
    ),
    *of(
        "ledger.sqlite.store:SqliteStore._opened",
        f"{FAULTS} {FILES} {TAMPERING}",
        ("schema.check_guards(connection)", ""),
    ),
    *of(
        "ledger.sqlite.store:SqliteStore._transaction",
        IDENTITY,
        ("check_same(self.path, self._identity)", ""),
    ),
    *of(
        "ledger.sqlite.store:SqliteStore.writing",
        IDENTITY,
        ("write_back(connection, self._timeout, emptied=transaction.replaced)", ""),
    ),
    *of(
        "ledger.sqlite.store:SqliteStore._let_go",
        IDENTITY,
        ("abandon(connection)", "connection.close()"),
    ),
    *of(
        "ledger.sqlite.store:SqliteStore._tidied",
        IDENTITY,
        ("time.monotonic() - began > LONG_LOOK", "False"),
    ),
    *of(
        "ledger.sqlite.place:check_same",
        SPENT_TWICE,
        (
            'tuple(_plain_file(Path(f"{path}{suffix}")) for suffix in ("", *LOGS)[: len(known)])',
            'tuple(_plain_file(Path(f"{path}{suffix}")) for suffix in ("",)) + known[1:]',
        ),
    ),
    *of(
        "ledger.sqlite.place:_plain_file",
        SPENT_TWICE,
        ("os.lstat", "os.stat"),
    ),
    *of(
        "ledger.sqlite.place:check_folder",
        f"{FOLDER} {FAULTS}",
        ("status.st_mode & stat.S_IWOTH", "False"),
        ("status.st_mode & stat.S_IWGRP and _shared(place, status)", "False"),
        ("(folder, *folder.parents)", "(folder,)"),
        ("not own and status.st_mode & stat.S_ISVTX", "status.st_mode & stat.S_ISVTX"),
    ),
    *of(
        "ledger.sqlite.place:_shared",
        f"{FOLDER} {FAULTS}",
        ("try:\n    ...\nexcept KeyError:\n    return True", "try:\n    ...\nexcept KeyError:\n    return False"),
        (
            "not members <= trusted or any(user.pw_gid == status.st_gid and user.pw_uid not in (0, "
            "status.st_uid) for user in pwd.getpwall())",
            "any(user.pw_gid == status.st_gid and user.pw_uid not in (0, status.st_uid) for user in pwd.getpwall())",
        ),
        ("user.pw_gid == status.st_gid", "False"),
    ),
    *of(
        "ledger.sqlite.place:locate",
        f"{FOLDER} {FAULTS}",
        ("os.path.realpath(path)", "os.path.abspath(path)"),
    ),
    *of(
        "ledger.sqlite.place:charging_alone",
        IN_THE_MIDDLE,
        ("fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass"),
    ),
    *of(
        "ledger.sqlite.store:SqliteStore.writing",
        IN_THE_MIDDLE,
        ("alone.enter_context(charging_alone(self.path.parent, self._timeout))", ""),
    ),
    *of(
        "ledger.history:History._is_proven",
        TAMPERING,
        ("self._proven[32 * (head.number - 1) : 32 * head.number] == head.hash", "True"),
    ),
    *of(
        "ledger.history:Proof.holds",
        TAMPERING,
        ("self.hashes[32 * (head.number - 1) : 32 * head.number] == head.hash", "self.hashes[:32] != b''"),
    ),
    *of(
        "ledger.history:prove",
        TAMPERING,
        (
            "known is not None and last is not None and transaction.hash_at(last.number) == last.hash",
            "known is not None and last is not None",
        ),
    ),
    *of(
        "ledger.history:check_shown",
        "adversarial/test_ledger_shown.py",
        ("not whole", "False"),
        ("whole = whole and _can_be_shown(state, written)", "pass"),
    ),
    *of(
        "ledger.account:check_amounts",
        "adversarial/test_ledger_shown.py",
        ("_LEAST_AMOUNT <= amount <= _LARGEST_AMOUNT", "True"),
    ),
    *of(
        "ledger.certificate:_found",
        "unit/ledger/test_review.py",
        ("any(conditions)", "False"),
        ("if names:\n    ...", "if False:\n    ..."),
        (
            '(False, f"the expression under {hidden[0]} is not recorded") if hidden else None',
            '(False, f"the expression under {hidden[0]} is not recorded") if False else None',
        ),
    ),
    *of(
        "ledger.certificate:_mended",
        "unit/ledger/test_review.py",
        ("int(rules[:9]) >= MENDED", "True"),
    ),
    *of(
        "ledger.certificate:_suspects",
        "unit/ledger/test_review.py",
        ("form is None and written.number in failed and not _mended(charge)", "False and not _mended(charge)"),
    ),
    *of(
        "ledger.fold:RunningSum.add",
        f"laws/test_replay.py {TAMPERING}",
        ("below.bit_length() > _LONGEST", "False"),
    ),
    *of(
        "ledger.fold:BalanceFold._charge",
        f"laws/test_replay.py {TAMPERING}",
        ("state.check_open(charge.account, time)", ""),
        ("self._pay(None, state.whole, charge.by_dataset)", "pass"),
        ("self._pay(charge.account, own, charge.by_account)", "pass"),
    ),
    *of(
        "ledger.fold:BalanceFold._check_order",
        f"{ACCOUNTS} laws/test_replay.py {TAMPERING}",
        ("self._time is not None and written.time < self._time", "False"),
    ),
    *of(
        "ledger.fold:BalanceFold.add",
        f"laws/test_replay.py {TAMPERING}",
        ("not self._state.failures", "True"),
    ),
    *of(
        "ledger.state:check_rules",
        FILES,
        (
            "make_cap(budget, rules.cap.keys_share).budget not in held",
            "make_cap(budget, rules.cap.keys_share).budget in ()",
        ),
        ("limit != rules.per_query", "False"),
    ),
    *of(
        "ledger.state:check_account",
        FILES,
        ("cap not in (opened_with, now)", "False"),
    ),
    *of(
        "ledger.forks:_before_fork",
        FILES,
        ("holder._let_go()", ""),
    ),
    *of(
        "ledger.history:StoredHistory._opened",
        RULES,
        ("with self.store.lock: ...", "if True: ..."),
    ),
    *of(
        "ledger.memory:MemoryStore._names",
        RULES,
        ("names if key is None else names | {(kind, account, None, key)}", "names"),
    ),
    *of(
        "ledger.memory:MemoryStore.writing",
        STORES,
        ("self._remove_after(count)", "pass"),
    ),
    *of(
        "ledger.history:verify_rows",
        STORES,
        ("known is not None and known.head == head and not known.agrees(replay.state)", "False"),
    ),
    *of(
        "execution.executor:run_plan",
        f"{SESSIONS} unit/test_pace.py",
        ("executor.find(plan, key)", "executor.find(plan)"),
        ("executor.find(plan, key)", "None"),
    ),
    *of(
        "execution.executor:Executor.release",
        "adversarial/test_threads.py",
        ("return stored", "pass"),
    ),
    *of(
        "execution.executor:Executor.release",
        f"{SESSIONS} adversarial/test_session_order.py",
        ("Kept(receipt, _unpacked(kept), plan)", "Kept(receipt, released, plan)"),
    ),
    *of(
        "execution.executor:Executor._read_scans",
        f"{SESSIONS} adversarial/test_session_order.py",
        ("self.ledger.fail(receipt)", ""),
    ),
    *of(
        "execution.batches:run_batch",
        "adversarial/test_batches.py",
        ("verify(plan, executor.schemas)", "pass"),
    ),
    *of(
        "ledger.steps:StepKeeping._admitted",
        f"{STEPS} {RULES}",
        ("(progress.step, progress.state) != (after, state)", "progress.state != state"),
        ("progress.over", "False"),
    ),
    *of(
        "ledger.steps:StepKeeping.draw_steps",
        "conformance/test_ledgers.py unit/stream/test_running_stream.py",
        ("_keep(history, receipt, text)", "pass"),
        ("called(draw, 'draw', progress, _kept(history, receipt))", "called(draw, 'draw', progress, None)"),
    ),
    *of("ledger.steps:_kept", "conformance/test_ledgers.py", ("text or None", "text")),
    *of(
        "ledger.sqlite.transaction:SqliteTransaction.keep",
        "unit/stream/test_running_stream.py",
        ("self.replaced or bool(self.kept(charge))", "False"),
    ),
    *of(
        "ledger.steps:StepKeeping.close_steps",
        f"{STEPS} {RULES}",
        ("progress.opened is None or progress.opening != opening", "progress.opened is None"),
        ("self._check_receipt(history, receipt)", ""),
    ),
    *of(
        "ledger.steps:StepKeeping.begin_steps",
        f"{STEPS} {RULES}",
        ("isinstance(charge, Charged) and charge.shared is not None", "False"),
        ("progress is not None and progress != Progress(0, hashed)", "False"),
    ),
    *of(
        "ledger.state:after_step",
        "laws/test_replay.py",
        ("progress is not None and progress.over", "False"),
        ("progress.opened == record.step", "True"),
        ("record.state == progress.state", "True"),
    ),
    *of("ledger.state:write_steps", STEPS, ("not steps", "True")),
]
