"""Breakages of the road from a query to an answer."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner/stability.py",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("l1, l2_squared = 2 * l1, 2 * sides * l2_squared", "l1, l2_squared = l1, sides * l2_squared"),
        ("sides = Fraction(up**2 + down**2, total.most**2) if total.most", "sides = Fraction(1) if total.most"),
        ("else max(high, 0) - min(low, 0)", "else high - low"),
        ("unconditional = total.where is None and scan.where is None and", "unconditional = total.where is None and"),
        ("(total.expression is None or total.null_as is not None)", "True"),
        (".of_group(schema.unit.touches)", ""),
        ("return most * rows * groups, most**2 * rows**2 * groups", "return most * rows, most**2 * rows**2"),
        ("squared = most**2 * limit * 4**shift", "squared = most**2 * limit * 2**shift"),
        ('double = 2 if scan.schema.neighbors == "change-one" else 1', "double = 1"),
        ("l1, l2_squared = max(l1, Fraction(1)), max(l2_squared, Fraction(1))", "pass"),
    ),
    *of(
        "planner/discover.py",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("Discovery(most, 0, 0)), rule", "Discovery(most, 1, 0)), rule"),
        ("group=schema.unit.touches, neighbors=schema.neighbors)", "neighbors=schema.neighbors)"),
        ("group=schema.unit.touches, neighbors=schema.neighbors)", "group=schema.unit.touches)"),
        ("_rule(scan, choice.share, most, delta)", "_rule(scan, 2 * choice.share, most, delta)"),
    ),
    *of(
        "planner/choose.py",
        "golden/test_query_to_plan.py",
        ('Choice("laplace", spend.epsilon / measures)', 'Choice("laplace", spend.epsilon)'),
        ('Choice("gaussian", spend.rho / measures)', 'Choice("gaussian", spend.rho)'),
        ("left = spend.epsilon * (1 - _ROOM) - 2 * blur", "left = spend.epsilon"),
    ),
    *of(
        "planner/make.py",
        "golden/test_query_to_plan.py unit/test_release_door.py adversarial/test_session_road.py",
        ("if discovers and not spend.keys:", "if False:"),
        ("sum(map(len, ordered.values())) + discovers", "sum(map(len, ordered.values()))"),
        ("schema.units is None or query.where is not None or query.keys", "schema.units is None or query.keys"),
        ("fixed = isinstance(schema.unit, Rows) and schema", "fixed = schema"),
    ),
    *of(
        "planner/keys.py",
        "golden/test_query_to_plan.py",
        ("(*values, None) if facts.nullable else tuple(values)", "(*values, None)"),
        ("if cells > MOST_KEYS:", "if False:"),
    ),
    *of(
        "planner/verify.py",
        "adversarial/test_session_road.py",
        ("if tables.get(one.scan.table) != one.scan.schema:", "if False:"),
        ("or rule.threshold < least:", "or False:"),
        ("if claimed != (discovery.most, schema.unit.touches, schema.neighbors):", "if False:"),
        ("if (discovery.order, discovery.shift) != (0, 0):", "if False:"),
        ("measure.sensitivity != claimed or _distance", "measure.sensitivity != claimed and _distance"),
        ("if hidden and not plan.discovers:", "if False:"),
    ),
    *of(
        "planner/plan.py",
        "golden/test_query_to_plan.py adversarial/test_session_road.py unit/test_answer_forms.py",
        ("found = (self.keys.event,) if self.keys else ()", "found = ()"),
        ("return [type(value).__name__, *(_plain", "return [*(_plain"),
        ('return ["/", str(value.numerator), str(value.denominator)]', "return int(value)"),
    ),
    *of(
        "release.py",
        "unit/test_release_door.py adversarial/test_session_road.py",
        ("if receipt.digest != plan.digest:", "if False:"),
        ("[weight > rule.threshold for", "[weight >= rule.threshold for"),
        ("zip(held, drawn, strict=False) if passes]", "zip(held, drawn, strict=False)]"),
        ("weights += [0] * (-len(weights) % block)", "pass"),
        ("block = max(_LEAST_BLOCK, 2 * discovery.most * unit.touches)", "block = _LEAST_BLOCK"),
        ("return [int(noisy) for noisy in mechanism.release(vector)]", "return list(integers)"),
    ),
    *of(
        "session.py",
        "adversarial/test_session_road.py",
        ("verify(plan, self._schemas)", "pass"),
        ("with self._asking:", "if True:"),
    ),
    *of(
        "ledger/bookkeeping.py",
        "conformance/test_ledgers.py unit/ledger/test_accounts.py",
        ("(record.digest, record.account) != (receipt.digest, receipt.account)", "record.digest != receipt.digest"),
        ("                if paid.digest != digest:", "                if False:"),
    ),
    *of(
        "aggregates/aggregate.py",
        "conformance/test_aggregates.py",
        ("null_as=None if self.nullable else low,", "null_as=low,"),
        ("return replace(centred, power=2, offset=most // 2)", "return replace(centred, power=2)"),
        ('return rows(known if self.where is None else Call("and", (known, self.where)))', "return rows(known)"),
    ),
    *of(
        "aggregates/spread.py",
        "conformance/test_aggregates.py",
        ("variance = variance * n / (n - 1.0)", "pass"),
    ),
    *of(
        "inference/laws.py",
        "unit/inference/test_bars.py",
        ("+ steps / 2)", ")"),
        ("if one.chance + other.chance <= tail:", "if one.chance <= tail:"),
        ("math.sqrt(2) if self.family", "1.0 if self.family"),
    ),
]
