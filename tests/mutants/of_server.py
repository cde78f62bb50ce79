"""Mutants of the server: who may ask, what is charged before it is read, and when it is handed over."""

from __future__ import annotations

from mutant import of

ADMISSION, ATTACKS = "unit/server/test_admission.py", "adversarial/test_server_attacks.py"
ROLES, ACCOUNTS = "unit/server/test_roles.py", "unit/server/test_accounts_file.py"
REPLIES = "unit/server/test_own_replies.py"
NEIGHBOURS, STEPS = "adversarial/test_server_neighbours.py", "unit/server/test_charged_steps.py"
REMOTE, ACTS = "e2e/test_local_and_remote.py", "unit/ledger/test_acts.py"

MUTANTS = [
    *of(
        "server.admission:AdmissionLedger.charge",
        ADMISSION,
        ("raise Admitted(receipt)", "return receipt"),
        ("raise NotStored", "pass"),
    ),
    *of("server.admission:PacedLedger.store", NEIGHBOURS, ("_hold()", "pass")),
    *of("server.admission:PacedLedger.fail", NEIGHBOURS, ("_hold()", "pass")),
    *of("server.admission:PacedLedger.charge", STEPS, ("grid.leave()", "pass")),
    *of(
        "execution.run_stages:_admit_steps",
        STEPS,
        ("entry.digest == first and entry.account == executor.account", "False"),
    ),
    *of("server.data_set:DataSet.rights", f"{ADMISSION} {REPLIES}", ("frozenset(about & allowed)", "about")),
    *of("server.job_queue:OwnReplies.find", REPLIES, ("kept[0] != rights", "False")),
    *of("server.job_queue:repeats", REPLIES, ('bool(stated & {"epsilon", "rho"})', "True")),
    *of("server.job_queue:is_released", REPLIES, ("not isinstance(result.plan, PublicPlan)", "True")),
    *of("server.analyst_api:_kept_reply", REPLIES, ("_key(call) is not None", "False")),
    *of(
        "server.identity:TokenStore.recognise",
        f"{ACCOUNTS} {REPLIES}",
        ('(facts := _facts(tuple(row))).state == "valid"', "(facts := _facts(tuple(row))) is not None"),
    ),
    *of(
        "server.data_set:DataSet.desk",
        ADMISSION,
        ("self._make(account, about, identity.withheld, budget)", "self._make(account, about, (), budget)"),
    ),
    *of(
        "server.data_set:DataSet._engine_without",
        ADMISSION,
        ("not withheld", "True"),
    ),
    *of(
        "server.http_call:_answer",
        f"{ROLES} {ATTACKS}",
        ("route.roles and identity is None", "False"),
        ("route.roles and identity is not None and identity.role not in route.roles", "False"),
        ('login is not None and route.roles and request.method != "GET"', "False"),
    ),
    *of(
        "server.http_call:_refuse_ambiguous",
        ATTACKS,
        ("len(request.headers.getlist(name)) > 1", "False"),
        ('"transfer-encoding" in request.headers and "content-length" in request.headers', "False"),
    ),
    *of(
        "server.listening:JsonLines.format",
        ATTACKS,
        ('line["event"] = "listener"', 'line["event"] = record.getMessage()'),
        ("record.exc_info[0].__name__", "str(record.exc_info[1])"),
    ),
    *of("server.http_call:_each_once", ATTACKS, ("len(members) != len(pairs)", "False")),
    *of(
        "server.http_call:_read_body",
        ATTACKS,
        ("size > limits.body", "False"),
        ("asyncio.timeout(limits.body_seconds)", "asyncio.timeout(90)"),
    ),
    *of(
        "server.identity:CookieSigner.check_own_page",
        ATTACKS,
        ("origin != own", "False"),
        ('hmac.compare_digest((sent or "").encode(), self.csrf_token(login).encode())', "True"),
    ),
    *of(
        "server.identity:CookieSigner.read",
        ATTACKS,
        ('hmac.compare_digest(signature, self._sign("cookie", body))', "True"),
    ),
    *of(
        "server.identity:TokenStore.valid",
        f"{ACCOUNTS} {ATTACKS}",
        ('(facts := _facts(rows[0])).state != "valid"', "not (facts := _facts(rows[0]))"),
    ),
    *of(
        "server.identity:TokenStore.asked",
        ATTACKS,
        ('"SELECT * FROM asked WHERE id = ? AND account = ?"', '"SELECT * FROM asked WHERE id = ? OR account = ?"'),
    ),
    *of("server.identity:_hash", ACCOUNTS, ("hashlib.sha256(token.encode()).digest()", "token.encode()")),
    *of(
        "server.analyst_api:ask_operation",
        f"{ATTACKS} {ADMISSION}",
        ("float(dataset.config.engine.time_step or call.state.limits.time_step)", "1e-9"),
        ("_identifier(call, name, moment)", '"same"'),
    ),
    *of(
        "remote.remote_session:_table",
        REMOTE,
        ("replace(schema, contents=None, version=VERSION)", "replace(schema, contents=None)"),
        ("None if file is None else str(file)", "None"),
    ),
    *of(
        "server.analyst_api:own_certificate",
        ATTACKS,
        ("ledger.entry(number).account != call.identity.name", "False"),
    ),
    *of(
        "server.analyst_api:own_history",
        ATTACKS,
        (
            "call.dataset.ledger.entries(after=after, limit=max(1, limit), account=call.identity.name)",
            "call.dataset.ledger.entries(after=after, limit=max(1, limit))",
        ),
    ),
    *of(
        "server.job_queue:Job.finish",
        ATTACKS,
        ("self.started + steps * self.step", "time.monotonic()"),
    ),
    *of(
        "server.job_queue:Job._next_step", ATTACKS, ("max(1, ceil((time.monotonic() - self.started) / self.step))", "0")
    ),
    *of(
        "server.job_queue:JobQueue.place_for",
        ADMISSION,
        ("mine >= self._limits.in_flight", "False"),
        ("len(waiting) + sum(self._reserved.values()) >= self._limits.queue", "False"),
    ),
    *of(
        "server.listening:ServerOptions.check",
        ADMISSION,
        ("not is_loopback(host) and self.certificate is None and not self.behind_proxy", "False"),
    ),
    *of("server.job_queue:Throttle.check", ADMISSION, ("left < 1", "False")),
    *of(
        "remote.remote_session:sent_value",
        REMOTE,
        ('{"ratio": f"{ratio.numerator}/{ratio.denominator}"}', "float(ratio)"),
    ),
    *of(
        "ledger.state:State._after",
        ACTS,
        ("isinstance(record, Answered) and waiting >= HELD", "False"),
        ("replace(self, failures={**self.failures, name: HELD})", "self"),
    ),
]
