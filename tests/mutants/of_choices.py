"""Breakages of choices by private scores, and of comparing counts and sums with a threshold."""

from __future__ import annotations

from mutant import Mutant, of

CHOICES = "unit/test_choose_session.py"
MOVED = "laws/test_choice_sensitivity.py"
VECTORS = "unit/test_above_session.py"

MUTANTS: list[Mutant] = [
    *of(
        "planner.comparison_plans:movement_of",
        MOVED,
        ('schema.moves == "add-remove"', "True"),
        ("schema.unit.touches == 1", "True"),
        ("scan.bounding.of is None", "True"),
        ("one_way and low >= 0", "one_way"),
        ("sensitivity_of(total, scan).l1", "total.most * 2**20"),
    ),
    *of(
        "planner.comparison_plans:check_scalar_scan",
        "unit/planner/test_scalars.py",
        ("total.origin or total.offset or total.power != 1", "False"),
        ("scan.bounding.order != 1", "False"),
    ),
    *of(
        "planner.comparison_plans:scalar_question",
        CHOICES,
        ("not all(map(_is_plain, query.steps))", "False"),
        ("columns[0].column != query.aggregates[0].name", "False"),
    ),
    *of(
        "planner.comparison_plans:_moved",
        f"{CHOICES} {MOVED}",
        ("max(movement.distance for movement in movements)", "min(movement.distance for movement in movements)"),
        ("all(movement.rises for movement in movements)", "any(movement.rises for movement in movements)"),
    ),
    *of(
        "planner.comparison_plans:verify_choice",
        CHOICES,
        ("plan.sensitivity < sensitivity", "False"),
        ("(plan.monotone and not monotone)", "False"),
        ("verify_scan(scan, tables)", "pass"),
        ("0 <= column < len(plan.scans[scan].sums)", "True"),
    ),
    *of(
        "planner.comparison_plans:make_choice",
        CHOICES,
        ("1 if monotone else 2", "1"),
        ('8 if chosen == "gumbel" else 2', "8"),
    ),
    *of(
        "planner.comparison_plans:ChoicePlan.multiples",
        CHOICES,
        ("int(worth_of(*score) / self.unit)", "1"),
    ),
    *of(
        "planner.comparison_plans:ChoicePlan.digest",
        CHOICES,
        (
            "[self.options, self.scans, places, self.sensitivity, self.monotone, self.rate, self.law]",
            "[self.options, self.scans, places, self.sensitivity, self.monotone, self.law]",
        ),
    ),
    *of(
        "release:choose_one",
        CHOICES,
        ("receipt.digest != plan.digest", "False"),
        ("len(exacts) != len(plan.scans)", "False"),
    ),
    *of(
        "execution.executor:Executor.release_choice",
        CHOICES,
        ("self.ledger.store(receipt, place)", "(receipt, place)"),
        ("self.engine.check(scan)", "pass"),
    ),
    *of(
        "planner.comparison_plans:verify_question",
        VECTORS,
        ("moved.distance > plan.sensitivity", "False"),
        ("plan.monotone and not moved.rises", "False"),
        ("kind_of_unit(scan.schema) != kind_of_unit(plan)", "False"),
        ("verify_scan(scan, tables)", "pass"),
    ),
    *of(
        "planner.comparison_plans:ThresholdPlan.event",
        VECTORS,
        ("Repeated(measured, self.limit)", "measured"),
        ("scale is None", "True"),
    ),
    *of(
        "planner.comparison_plans:ThresholdPlan.__post_init__",
        VECTORS,
        ("self.unit.touches != 1", "False"),
        ('self.neighbors != "add-remove"', "False"),
    ),
    *of(
        "planner.comparison_plans:ThresholdPlan.digest",
        VECTORS,
        ("[self.unit, self.neighbors, self.account, self.name]", "[self.unit, self.neighbors, self.name]"),
        ("[self.unit, self.neighbors, self.account, self.name]", "[self.unit, self.neighbors, self.account]"),
    ),
    *of(
        "planner.comparison_plans:steps_of",
        VECTORS,
        ("worth_of(question.sum, question.scan)", "question.sum.step"),
    ),
    *of(
        "planner.comparison_plans:cost_of_spend",
        VECTORS,
        ("2 * (spend.rho or Fraction(0))", "8 * (spend.rho or Fraction(0))"),
    ),
    *of(
        "release:compare",
        VECTORS,
        ("answer + noises[0] < bar", "answer + noises[0] <= bar"),
        ("answer + noises[1]", "answer + noises[0]"),
        ("answer + noises[0] < bar", "answer < bar"),
    ),
    *of(
        "release:_check_vector",
        VECTORS,
        ("receipt.digest != plan.digest", "False"),
    ),
    *of(
        "execution.vector:OpenedVector._answer",
        VECTORS,
        ("self._state.pending.get(name)", "None"),
        ("not after.left", "False"),
        ("{**state.pending, name: noises}", "{name: noises}"),
    ),
    *of(
        "execution.vector:OpenedVector._resume",
        VECTORS,
        ("hash_of_text(kept) != known", "False"),
        ("kept is None", "False"),
    ),
    *of(
        "execution.vector:VectorState.answered",
        VECTORS,
        ("self.left - outcome[0]", "self.left"),
        ("self.bar if left else None", "self.bar"),
    ),
    *of(
        "execution.vector:VectorState.text",
        VECTORS,
        ("secrets.token_hex(32)", '""'),
    ),
    *of(
        "execution.vector:plan_vector",
        VECTORS,
        ("one_way and not signed", "one_way"),
        ("first.unit.touches == 1", "True"),
    ),
    *of(
        "ledger.steps:StepKeeping._admitted",
        "unit/test_above_session.py",
        ("history.state.check_going_on(receipt.account, history.now())", "None"),
    ),
    *of(
        "ledger.steps:_keep",
        "conformance/test_ledgers.py unit/test_above_session.py",
        ("history.transaction.keep(receipt.entry, text)", "pass"),
    ),
    *of(
        "ledger.memory:MemoryStore.writing",
        "conformance/test_stores.py",
        ("self._texts = texts", "pass"),
    ),
]
