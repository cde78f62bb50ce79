"""Breakages of the road from a query to an answer."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "planner.stability:_of_reading",
        "laws/test_bounding_marks.py",
        ("above or (lost and high > 0)", "above"),
        ("below or (lost and low < 0)", "below"),
        ("above or (lost and high > 0)", "lost and high > 0"),
        ("_EITHER if below or (above and aggregate.arity > 1) else Bias(low=above)", "_NONE"),
    ),
    *of(
        "planner.stability:loses",
        "laws/test_bounding_marks.py",
        ("scan.schema.unit.rowwise", "False"),
        ("min(rows, cells) > groups or (rows > kept and not scan.distinct)", "min(rows, cells) > groups"),
        ("rows**order > limit", "rows > limit and False"),
        ("if any(join.most is not None for join in joins_of(scan.table)):\n    ...", ""),
    ),
    *of(
        "planner.stability:_most_rows",
        "laws/test_bounding_marks.py",
        ("schema.key in unit_columns(schema.unit) or _one_each(scan.table)", "True"),
        ("schema.key in unit_columns(schema.unit) or _one_each(scan.table)", "False"),
    ),
    *of(
        "planner.stability:_quotient",
        "laws/test_bounding_marks.py",
        ("-signs[0] * signs[1] ** 2", "signs[0] * signs[1] ** 2"),
    ),
    *of(
        "planner.stability:_product",
        "laws/test_bounding_marks.py",
        ("reversed(signs)", "signs"),
    ),
    *of(
        "display:figures",
        "laws/test_bounding_marks.py",
        ("series.mark and value is not None", "False"),
    ),
    *of(
        "results.read:_joined",
        "laws/test_bounding_marks.py",
        ("any(part.may_be_low for part in parts)", "False"),
    ),
    *of(
        "inference.bars:derived_bars",
        "statistical/test_sparse_coverage.py",
        ("~none", "none"),
    ),
    *of(
        "inference.bars:_reached",
        "statistical/test_sparse_coverage.py",
        ("1 - tail", "0.5"),
    ),
    *of(
        "planner.stability:sensitivity_of",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("2 * l1, 2 * sides * l2_squared", "l1, sides * l2_squared"),
        ("Fraction(up**2 + down**2, total.most**2)", "Fraction(1)"),
        ("max(high, 0) - min(low, 0)", "high - low"),
        (
            "Sensitivity(neighbors=neighbors, l1=l1, l2_squared=l2_squared).of_group(schema.unit.touches)",
            "Sensitivity(neighbors=neighbors, l1=l1, l2_squared=l2_squared)",
        ),
        ("l1, l2_squared = max(l1, Fraction(1)), max(l2_squared, Fraction(1))", "pass"),
    ),
    *of(
        "planner.stability:_always_counts",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("isinstance(scan.table, str) and scan.where is None", "isinstance(scan.table, str)"),
        ("total.expression is None or total.null_as is not None", "True"),
    ),
    *of(
        "planner.stability:_given",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("most * rows * groups, most**2 * rows**2 * groups", "most * rows, most**2 * rows**2"),
        ("4**shift", "2**shift"),
    ),
    *of(
        "planner.stability:key_sensitivity",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ('2 if scan.schema.moves == "change-one" else 1', "1"),
    ),
    *of(
        "planner.keys:discovered",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("Discovery(most, 0, 0)", "Discovery(most, 1, 0)"),
        ("choice.share", "2 * choice.share"),
    ),
    *of(
        "planner.keys:_rule",
        "golden/test_query_to_plan.py laws/test_plan_sensitivity.py",
        ("schema.unit.touches", "1"),
        ("schema.moves", '"add-remove"'),
    ),
    *of(
        "planner.keys:choices",
        "golden/test_query_to_plan.py",
        ("spend.epsilon / measures", "spend.epsilon"),
        ("spend.rho / measures", "spend.rho"),
        ("spend.epsilon * (1 - _ROOM) - 2 * blur", "spend.epsilon"),
    ),
    *of(
        "planner.make:_check_found",
        "golden/test_query_to_plan.py unit/test_release.py adversarial/test_session_order.py",
        ("not hidden or draft.spend.keys", "True"),
    ),
    *of(
        "planner.make:PlanDraft.alone",
        "golden/test_query_to_plan.py unit/test_release.py adversarial/test_session_order.py",
        (
            "sum(map(len, self.sums.values())) + len(self.values) + len(self.spans) + self.discovers",
            "sum(map(len, self.sums.values())) + len(self.values) + len(self.spans)",
        ),
    ),
    *of(
        "planner.make:scan_keys",
        "golden/test_query_to_plan.py unit/test_release.py adversarial/test_session_order.py",
        ("(texts[text] for text in sorted(texts))", "texts.values()"),
    ),
    *of(
        "planner.make:known_sums",
        "golden/test_query_to_plan.py unit/test_release.py adversarial/test_session_order.py",
        (
            "isinstance(query.table, str) and query.where is None and not query.keys",
            "isinstance(query.table, str) and not query.keys",
        ),
    ),
    *of(
        "planner.make:known_rows",
        "golden/test_query_to_plan.py unit/test_release.py adversarial/test_session_order.py",
        (
            'schema.unit.rowwise and schema.neighbors == "change-one" and schema.units is not None',
            'schema.neighbors == "change-one" and schema.units is not None',
        ),
    ),
    *of(
        "planner.make:_argument",
        "conformance/test_aggregates.py laws/test_relation_sensitivity.py adversarial/test_own_hostile_sql.py",
        ("not bounded or _held(expression, ends, schema)", "True"),
    ),
    *of(
        "planner.make:aggregate_of",
        "conformance/test_aggregates.py",
        (
            "_argument(asked, argument, schema, limited, conditions, bounded=kind.bounded)",
            "_argument(asked, argument, schema, limited, where, bounded=False)",
        ),
    ),
    *of(
        "aggregates.aggregate:register",
        "conformance/test_outside_aggregate.py",
        ("entry.name in AGGREGATES", "False"),
        ("name in _BY_SQL or name in _RESERVED", "name in _BY_SQL"),
        ("_try(entry)", "None"),
    ),
    *of(
        "aggregates.column_sums:CountRows.of",
        "conformance/test_aggregates.py laws/test_relation_sensitivity.py adversarial/test_own_hostile_sql.py",
        ("cls(wanted.where)", "cls(None)"),
    ),
    *of(
        "planner.stability:_given",
        "laws/test_different_values.py",
        ("(kept * most) ** 2", "kept * most**2"),
        ("not counted and total.expression != scan.bounding.of", "False"),
    ),
    *of(
        "planner.stability:pairs_kept",
        "laws/test_different_values.py",
        ("contribution.groups * contribution.rows", "contribution.rows"),
    ),
    *of(
        "planner.make:PlanDraft.alone",
        "laws/test_different_values.py",
        (
            "sum(map(len, self.sums.values())) + len(self.values) + len(self.spans)",
            "sum(map(len, self.sums.values()))",
        ),
    ),
    *of(
        "aggregates.column_sums:CountValues",
        "laws/test_different_values.py",
        ("own_pass = True", "own_pass = False"),
    ),
    *of(
        "engines.scan_sql.statement:Writer._pairs",
        "laws/test_different_values.py",
        ("pairs.most", "pairs.most + 1"),
        ("'dense_rank() OVER (PARTITION BY u ORDER BY '", "'dense_rank() OVER (PARTITION BY u, v ORDER BY '"),
    ),
    *of(
        "planner.batch:_parts",
        "adversarial/test_batches.py",
        ("measures_of(plan) + _selections(plan)", "measures_of(plan)"),
    ),
    *of(
        "planner.batch:_best",
        "adversarial/test_batches.py",
        ("weight * measures_of(plan)", "measures_of(plan)"),
        ("spend.keys / max(1, sum(any(pass_.keys for pass_ in plan.passes) for plan in alone))", "spend.keys"),
    ),
    *of(
        "planner.batch:Batch.event",
        "adversarial/test_batches.py",
        ("self.releases", "self.releases[:1]"),
    ),
    *of(
        "planner.make:Among.choices",
        "adversarial/test_batches.py",
        (
            "[choice for choice in all_choices if self.family in (None, choice.family)]",
            "[choice for choice in all_choices ]",
        ),
    ),
    *of(
        "planner.make:_choose",
        "adversarial/test_batches.py",
        ("draft.spend_each.part(Fraction(among.weight, among.parts))", "draft.spend_each"),
    ),
    *of(
        "release:release_all",
        "adversarial/test_batches.py",
        ("receipt.digest != batch.digest", "False"),
    ),
    *of(
        "aggregates.covariance:Covariance.products",
        "conformance/test_aggregates.py laws/test_plan_sensitivity.py",
        (
            "Sum(product, -ends, ends, step=fine, where=self.first.where, null_as=None if nullable else -ends)",
            "Sum(product, -2 * ends, 2 * ends, step=fine, where=self.first.where, null_as=None if nullable else -ends)",
        ),
    ),
    *of(
        "aggregates.covariance:Covariance._y",
        "conformance/test_aggregates.py laws/test_plan_sensitivity.py",
        ("replace(self.second, where=_all((*self._known, self.second.where)))", "self.second"),
    ),
    *of(
        "aggregates.covariance:_moved",
        "conformance/test_aggregates.py laws/test_plan_sensitivity.py",
        ("not argument.held", "False"),
    ),
    *of(
        "aggregates.aggregate:Aggregate._tails",
        "statistical/test_answer_coverage.py::test_intervals_of_covariances_hold_as_often_as_they_say",
        ("known -= part * part", "pass"),
    ),
    *of(
        "planner.keys:group_key",
        "golden/test_query_to_plan.py",
        ("(*values, None) if facts.nullable else tuple(values)", "(*values, None)"),
    ),
    *of(
        "planner.keys:count_cells",
        "golden/test_query_to_plan.py",
        ("count > MOST_KEYS", "False"),
    ),
    *of(
        "planner.verify:_verify_table",
        "adversarial/test_session_order.py",
        (
            "expected != scan.schema or list(expected.columns) != list(scan.schema.columns)",
            "list(expected.columns) != list(scan.schema.columns)",
        ),
    ),
    *of(
        "planner.verify:verify",
        "adversarial/test_session_order.py",
        ("hidden and not plan.discovers", "False"),
        (
            "{key.expression for key in plan.query.keys} != {key.expression for key in plan.groups}",
            "set() and {key.expression for key in plan.groups}",
        ),
    ),
    *of(
        "planner.verify:_verify_keys",
        "adversarial/test_session_order.py",
        ("rule.threshold < least", "False"),
    ),
    *of(
        "planner.verify:_verify_rule",
        "adversarial/test_session_order.py",
        ("claimed != (discovery.most, schema.unit.touches, schema.moves)", "False"),
        ("(discovery.order, discovery.shift) != (0, 0)", "False"),
    ),
    *of(
        "planner.measures:Measure.verify",
        "adversarial/test_session_order.py",
        (
            "self.sensitivity != claimed or self.mechanism.distance < self.mechanism.moved(claimed)",
            "self.sensitivity != claimed and self.mechanism.distance < self.mechanism.moved(claimed)",
        ),
    ),
    *of(
        "planner.plan:Pass.events",
        "golden/test_query_to_plan.py adversarial/test_session_order.py unit/test_answer_forms.py",
        ("(self.keys.event,) if self.keys else ()", "()"),
    ),
    *of(
        "planner.make:_errs_less",
        "unit/planner/test_sums_beside_means.py",
        ("aggregate.argument.middle**2 * moved(count)", "0"),
        ("squares[1] * variance > squares[0] * moved(aggregate.argument.plain())", "False"),
    ),
    *of(
        "planner.make:_beside_means",
        "unit/planner/test_sums_beside_means.py",
        ("total.sums()[0] not in others", "True"),
        ("others.union(draft.known).issuperset(total.sums())", "True"),
    ),
    *of(
        "aggregates.column_sums:CentredTotal.predicted_width",
        "unit/planner/test_sums_beside_means.py",
        ("float(self.argument.middle)", "0.0"),
    ),
    *of(
        "aggregates.column_sums:CentredTotal.read",
        "unit/planner/test_sums_beside_means.py",
        ("released[1] * float(self.argument.middle)", "0.0"),
    ),
    *of(
        "planner.plan:Edition.of",
        "unit/planner/test_sums_beside_means.py",
        ("self.concerns(plan.passes) or (self.asked is not None and self.asked(plan))", "self.concerns(plan.passes)"),
    ),
    *of(
        "planner.measurements:_rows",
        "unit/test_measurements.py",
        ("column.times * len(groups)", "1"),
    ),
    *of(
        "planner.measurements:_groups",
        "unit/test_measurements.py",
        ("cell[place]", "cell[0]"),
    ),
    *of(
        "planner.measures:Measure.measured",
        "unit/test_measurements.py",
        ("unit / 2**self.shift", "unit"),
    ),
    *of(
        "planner.plan:digest_of",
        "unit/planner/test_editions.py",
        ('canonical(["editions", numbers, passes]) if numbers else canonical(passes)', "canonical(passes)"),
        ("EDITIONS[:editions]", "EDITIONS"),
    ),
    *of(
        "planner.plan:as_of",
        "unit/planner/test_editions.py",
        ("edition.earlier(made) if edition.sound else None", "edition.earlier(made)"),
    ),
    *of(
        "planner.plan:editions_of",
        "unit/planner/test_editions.py",
        ("made is not None and reaches(made)", "made is not None"),
    ),
    *of(
        "planner.batch:_as_of",
        "unit/planner/test_editions.py",
        ("len(made) == len(parts)", "made"),
    ),
    *of(
        "planner.batch:editions_of_batch",
        "unit/planner/test_editions.py",
        ("len(made) == len(plans)", "made"),
    ),
    *of(
        "execution.executor:Executor.stored",
        "unit/planner/test_editions.py unit/ledger/test_session_with_ledger.py",
        ("self.charge(plan, digest, key)", "pass"),
    ),
    *of(
        "execution.executor:Executor.stored",
        "unit/planner/test_editions.py",
        ("plan.digest if digest is None else digest", "plan.digest"),
    ),
    *of(
        "execution.run_stages:_earlier_rounds",
        "unit/planner/test_editions.py",
        ("_finished(executor, now, target) is not None", "False"),
    ),
    *of(
        "core.wire:Form.write",
        "unit/core/test_wire.py golden/test_wire.py golden/test_query_to_plan.py",
        (
            "[self.name, *[item if type(item) in _AS_THEY_ARE else _plain(item) for item in kept]]",
            "[*[item if type(item) in _AS_THEY_ARE else _plain(item) for item in kept]]",
        ),
    ),
    *of(
        "core.wire:wired.bind",
        "unit/core/test_wire.py",
        ("sorted(attributes) != sorted((field.name for field in fields(kind)))", "False"),
    ),
    *of(
        "core.wire:_plain",
        "unit/core/test_wire.py golden/test_wire.py golden/test_query_to_plan.py",
        ('["/", str(value.numerator), str(value.denominator)]', "int(value)"),
        ("_WRITERS.get(kind)", "next((_WRITERS[one] for one in kind.__mro__ if one in _WRITERS), None)"),
        (
            'InvariantError(f"a {kind.__name__} has no wire form: a digest is made of names that do not change")',
            "TypeError()",
        ),
    ),
    *of(
        "release:release",
        "unit/test_release.py adversarial/test_session_order.py",
        ("receipt.digest != plan.digest", "False"),
    ),
    *of(
        "planner.measures:KeyRelease.shows",
        "unit/test_release.py adversarial/test_session_order.py",
        ("weight > self.threshold", "weight >= self.threshold"),
    ),
    *of(
        "planner.measures:found_keys",
        "unit/test_release.py adversarial/test_session_order.py",
        (
            "[cell for cell, passes in zip(opened.groups, drawn, strict=False) if passes]",
            "[cell for cell, passes in zip(opened.groups, drawn, strict=False)]",
        ),
        ("weights += [0] * (-len(weights) % block)", "pass"),
        ("max(_LEAST_BLOCK, 2 * discovery.most * unit.touches)", "_LEAST_BLOCK"),
    ),
    *of(
        "planner.measures:add_noise",
        "unit/test_release.py adversarial/test_session_order.py",
        ("noisy: list[int] = mechanism.release(vector).tolist()", "noisy = list(integers)"),
    ),
    *of(
        "execution.executor:run_plan",
        "adversarial/test_session_order.py",
        (
            "verify(plan, executor.schemas)\nkept = executor.find(plan, key)",
            "kept = executor.find(plan, key)",
        ),
    ),
    *of(
        "aggregates.aggregate:Argument._sum",
        "conformance/test_aggregates.py",
        ("None if self.nullable else low", "low"),
    ),
    *of(
        "aggregates.aggregate:squares",
        "conformance/test_aggregates.py",
        ("replace(centred, power=2, offset=most // 2)", "replace(centred, power=2)"),
    ),
    *of(
        "aggregates.aggregate:Argument._present",
        "conformance/test_aggregates.py",
        ('known if self.where is None else Call("and", (known, self.where))', "known"),
    ),
    *of(
        "aggregates.column_sums:Spread.read",
        "conformance/test_aggregates.py",
        ("variance = variance * n / (n - 1.0)", "pass"),
    ),
    *of(
        "inference.bars:half_width",
        "unit/inference/test_bars.py",
        ("_smooth_width(one, other, factor, tail) + steps / 2", "_smooth_width(one, other, factor, tail)"),
        ("one.chance + other.chance", "one.chance"),
    ),
    *of(
        "inference.bars:Law.deviation",
        "unit/inference/test_bars.py",
        ("math.sqrt(2)", "1.0"),
    ),
    *of(
        "results.origins:added",
        "unit/test_released_rows.py::test_a_sum_of_noisy_numbers_has_an_interval_by_the_sum_of_their_noise",
        ("flat.get(inner, 0.0) + factor * times", "factor * times"),
    ),
    *of(
        "results.origins:Intervals.add_noises",
        "unit/test_several_releases.py::test_keys_in_another_order_are_the_same_noise",
        ("before + factor * times", "factor * times"),
    ),
    *of(
        "results.origins:Intervals._one",
        "statistical/test_released_rows_coverage.py::test_intervals_over_several_rows_hold_as_often_as_they_say",
        ("self.bars(noisy, tail / max(1, len(noisy)))", "self.bars(noisy, tail * 4)"),
    ),
    *of(
        "results.origins:Intervals._total",
        "statistical/test_released_rows_coverage.py::test_intervals_over_several_rows_hold_as_often_as_they_say",
        ("self.half_width_of(list(noises.values()), share)", "self.half_width_of(list(noises.values())[:1], share)"),
    ),
    *of(
        "results.released_tables:_aggregate",
        "statistical/test_released_rows_coverage.py::test_a_choice_by_noise_is_never_summed_into_a_narrow_interval",
        ("given.noisy or any(origins[row] is not None for row in rows if values[row] is None)", "False"),
    ),
    *of(
        "results.released_tables:_plain",
        "statistical/test_released_rows_coverage.py::test_a_choice_by_noise_is_never_summed_into_a_narrow_interval",
        ("table.has_noise(step.where)", "False"),
        ("cut and any(table.has_noise(term.expression) for term in step.order)", "False"),
    ),
    *of(
        "results.released_tables:_joined",
        "unit/test_several_releases.py",
        ("UNKNOWN if side.noisy or side.found or met_by_noise else None", "UNKNOWN if side.noisy else None"),
        ("gone_too if row is None else other.origin(own, row)", "None if row is None else other.origin(own, row)"),
    ),
    *of(
        "results.released_tables:_plain",
        "unit/test_several_releases.py::test_a_number_that_noise_kept_out_is_not_said_to_be_none",
        ("not cells or any(origin is not None for origin in cells)", "any(origin is not None for origin in cells)"),
    ),
    *of(
        "results.released_tables:_renamed",
        "unit/test_several_releases.py::test_a_number_that_noise_kept_out_is_not_said_to_be_none",
        ("not own or any(origin is not None for origin in own)", "any(origin is not None for origin in own)"),
    ),
    *of(
        "results.postprocess:run_step",
        "unit/test_released_rows.py::test_rows_are_those_of_a_database",
        ("{**made_here, **columns}", "{**columns, **made_here}"),
    ),
    *of(
        "query.build:_refuse_inside",
        "unit/test_several_releases.py::test_a_value_that_is_not_released_first_is_refused_by_a_name_for_it",
        ("(asked.where, *asked.keys, *levels, *inside)", "(*asked.keys, *levels, *inside)"),
        ("(asked.where, *asked.keys, *levels, *inside)", "(asked.where, *levels, *inside)"),
        ("(asked.where, *asked.keys, *levels, *inside)", "(asked.where, *asked.keys, *levels)"),
    ),
    *of(
        "query.released:public_rows",
        "unit/test_several_releases.py::test_a_released_value_never_reaches_private_rows",
        ("not is_public(standing.schema)", "False"),
    ),
    *of(
        "results.read:_leaf",
        "unit/test_several_releases.py",
        ("(plan.digest, cell)", "(plan.digest, cell, place)"),
    ),
    *of(
        "query.released:_equals",
        "unit/test_determined_columns.py",
        ('eq.function == "equal"', "True"),
    ),
    *of(
        "query.released:DeterminedColumns._side",
        "unit/test_determined_columns.py",
        ("any(expression in self.keys for expression in side.equal)", "True"),
    ),
    *of(
        "query.build:_of_one_value",
        "unit/test_determined_columns.py",
        ("bool(parts) and known and texts", "texts"),
        ('function not in ("any_value", "min", "max") or where != TRUE', 'function not in ("any_value", "min", "max")'),
    ),
    *of(
        "results.released_tables:_aggregate",
        "unit/test_crosstabs.py::test_a_group_that_was_not_found_is_not_said_to_be_empty",
        ('given.found and over.function == "any_value"', "False"),
    ),
]
