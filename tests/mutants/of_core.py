"""Breakages of core."""

from __future__ import annotations

from mutant import Mutant, of

EVENTS = "conformance/test_events.py"
MUTANTS: list[Mutant] = [
    *of(
        "core.numbers:_foreign",
        "unit/core/test_exact.py",
        (
            'isinstance(value, bool) or hasattr(value, "__len__") or type(value).__name__ in _NOT_NUMBERS',
            "isinstance(value, bool) or type(value).__name__ in _NOT_NUMBERS",
        ),
    ),
    *of(
        "core.numbers:positive",
        "unit/core/test_exact.py",
        ("fraction <= 0", "fraction < 0"),
    ),
    *of(
        "core.numbers:failure_probability",
        "unit/core/test_exact.py",
        ("0 <= fraction < 1", "0 <= fraction <= 1"),
    ),
    *of(
        "core.numbers:_exact",
        "unit/core/test_exact.py",
        ("Fraction(value) if math.isfinite(value) else None", "Fraction(value).limit_denominator(10**9)"),
        (
            "type(value) is Fraction and type(value.numerator) is int is type(value.denominator)",
            "type(value) is Fraction",
        ),
    ),
    *of(
        "core.numbers:whole",
        "unit/core/test_exact.py",
        (
            "integer is None or integer < least or (most is not None and integer > most)",
            "integer is None or (most is not None and integer > most)",
        ),
    ),
    *of(
        "core.numbers:float_up",
        "unit/core/test_rounding.py",
        ("nearest if reached else math.nextafter(nearest, math.inf)", "nearest"),
    ),
    *of(
        "core.numbers:_root",
        "unit/core/test_rounding.py",
        ("round_up and root * root != product << (2 * shift)", "False"),
    ),
    *of(
        "core.numbers:inflate",
        "unit/core/test_rounding.py",
        ("1 + MARGIN", "1 - MARGIN"),
    ),
    *of(
        "core.numbers:exp_up",
        "unit/core/test_rounding.py",
        ("1 + Fraction(1, 10**50)", "1 - Fraction(1, 10**50)"),
    ),
    *of(
        "core.event:Composed.pure",
        f"unit/core/test_event.py {EVENTS}",
        (
            "_sum(event.pure() for event in self.events)",
            "max((event.pure() for event in self.events), default=Fraction(0))",
        ),
    ),
    *of(
        "core.event:Repeated.slack",
        f"unit/core/test_event.py {EVENTS}",
        ("min(Fraction(1), self.times * self.event.slack())", "self.event.slack()"),
    ),
    *of(
        "core.event:Repeated.rdp",
        f"unit/core/test_event.py {EVENTS}",
        ("float_up(self.times * Fraction(once))", "once"),
    ),
    *of(
        "core.event:Composed.atoms",
        f"unit/core/test_event.py {EVENTS}",
        ("total.get(atom, 0) + times", "times"),
    ),
    *of(
        "core.unit:Sensitivity.sum",
        "unit/core/test_sensitivity.py",
        ("max(abs(bottom), abs(top))", "top - bottom"),
    ),
    *of(
        "core.unit:Sensitivity.histogram",
        "unit/core/test_sensitivity.py",
        ('1 if read_neighbors(neighbors) == "add-remove" else 2', "1"),
    ),
    *of(
        "core.unit:Sensitivity.of_group",
        "unit/core/test_sensitivity.py",
        ("self.l2_squared * k", "self.l2_squared"),
    ),
    *of(
        "core.unit:sensitivity_by_enumeration",
        "unit/core/test_sensitivity.py",
        ("[tuple(sorted((*rest, i))) for i in indices]", "[rest]"),
    ),
    *of(
        "core.errors:BadValue.__init__",
        "unit/core/test_errors.py adversarial/test_bad_input.py",
        ('f"{parameter} must be {allowed}; got {kind}"', "kind"),
    ),
    *of(
        "core.errors:quote",
        "unit/core/test_errors.py adversarial/test_bad_input.py",
        ("len(text) <= _QUOTE_LIMIT", "True"),
    ),
]
