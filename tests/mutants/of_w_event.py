"""Breakages of histograms over streams."""

from __future__ import annotations

from mutant import Mutant, of

SPENT = "unit/stream/test_w_event.py"
KEPT = "unit/stream/test_w_event_kept.py"
MUTANTS: list[Mutant] = [
    *of(
        "stream.w_event:advance",
        SPENT,
        ("sum(kept) + spent > plan.most_parts", "False"),
        ("PARTS if plan.compares else 0", "0"),
        ("(offered if publishes else 0)", "0"),
        ("offered > 0 and far", "offered > 0"),
        ("_held(counts)", "list(counts)"),
        ("len(noises) != numbers_drawn(plan, state)", "False"),
    ),
    *of("stream.w_event:_distribution", SPENT, ("max(0, left) // 2", "max(0, left)")),
    *of(
        "stream.w_event:_absorption",
        SPENT,
        ("min(max(0, waited), plan.promise.window) * PARTS", "max(0, waited) * PARTS"),
        ("state.step + 1 - state.measured - skipped", "state.step + 1 - state.measured"),
    ),
    *of("stream.w_event:_uniform", SPENT, ("2 * PARTS", "3 * PARTS")),
    *of("stream.w_event:_sample", SPENT, ("state.step % plan.promise.window", "state.step % 2")),
    *of("stream.w_event:_sensitivity", SPENT, ("neighbors == 'add-remove' or cells == 1", "True")),
    *of(
        "stream.w_event:noise_of",
        SPENT,
        ("plan.sensitivity / cost_of(plan, parts)", "1 / cost_of(plan, parts)"),
    ),
    *of("stream.w_event:_far", SPENT, ("differences + added", "differences")),
    *of(
        "stream.w_event:count_rows",
        SPENT,
        ("taken < plan.contribution", "True"),
        ("seen[type(person), person] = taken + 1", "seen[str, str(person)] = taken + 1"),
    ),
    *of("stream.w_event:_pairs", SPENT, ("type(row[0]) not in (str, int)", "False")),
    *of(
        "stream.w_event_kept:KeptWEventStream._stepped",
        KEPT,
        ("read_ahead(text).numbers.tolist()", "None"),
        ("state.step + 1", "state.step + 2"),
    ),
    *of("stream.w_event_kept:KeptWEventStream._advance", KEPT, ("self._clock is not None", "False")),
    *of(
        "stream.w_event_kept:KeptWEventStream.verify",
        KEPT,
        ("sum(spent[-self._plan.promise.window:]) > self._plan.promise.epsilon", "False"),
        ("step not in states", "False"),
    ),
    *of(
        "stream.w_event_kept:_last_state",
        KEPT,
        ("(state.step, _hash(plan, state)) != (progress.step, progress.state)", "False"),
    ),
    *of("stream.w_event:draw_noise", SPENT, ("noise_of(plan, offered)", "noise_of(plan, plan.most_parts)")),
    *of("stream.arrivals:StepClock.empty_before", KEPT, ("now <= closed", "False"), ("now - closed - 1", "0")),
    *of("stream.w_event_kept:_read_plan", KEPT, ("('cells', 'contribution', 'neighbors', 'algorithm')", "('cells',)")),
    *of("ledger.state:State.check_budget", KEPT, ("account in self.promises", "False")),
    *of("ledger.admin:Administration.open_promise", KEPT, ("opened != record", "False")),
    *of("ledger.admin:_check_free", KEPT, ("account in state.accounts or account in state.promises", "False")),
    *of(
        "core.budget:WEvent.__init__",
        SPENT,
        ("whole(window, 'window', least=1, most=MOST_STEPS)", "whole(window, 'window', most=MOST_STEPS)"),
    ),
    *of("core.budget:WEvent.over", SPENT, ("-(-whole(steps, 'steps', least=1) // self.window)", "1")),
]
