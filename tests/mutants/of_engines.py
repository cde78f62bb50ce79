"""Breakages of the engines: how rows are clamped, put on the grid and weighted."""

from __future__ import annotations

from mutant import Mutant, of

MUTANTS: list[Mutant] = [
    *of(
        "engines/values.py",
        "conformance/test_engines.py laws/test_scan_sensitivity.py",
        ("AND {y} <= {top} THEN TRY_CAST", "THEN TRY_CAST"),
        ("WHEN {y} < {bottom} THEN {low} ", "WHEN {y} < {bottom} THEN TRY_CAST({y} AS BIGINT) "),
        ("return scale.place(float(low)) <= total.low and total.high <= scale.place(float(high))", "return True"),
    ),
    *of(
        "engines/values.py",
        "laws/test_clamps.py",
        ("held = between(x, whole(bottom), whole(top))", "held = x"),
        ("return moved, between(y, whole(total.low), whole(total.high))", "return moved, y"),
    ),
    *of(
        "engines/values.py",
        "conformance/test_engines.py",
        ("return form.apply(int(low)) <= total.low and total.high <= form.apply(int(high))", "return True"),
    ),
    *of(
        "engines/relations.py",
        "laws/test_clamps.py",
        ("clamped(f'c{index}', made.columns[name])", "f'c{index}'"),
    ),
    *of(
        "engines/values.py",
        "unit/engines/test_shared_grids.py",
        ("null_as=None, power=1, offset=0)", "null_as=None, power=1, offset=0, step=Fraction(1))"),
        ('condition = None if found.condition is None else f"b{index}"', "condition = found.condition"),
    ),
    *of(
        "engines/sql.py",
        "laws/test_scan_sensitivity.py",
        ("sum({self._square(norm)}) AS q FROM ({cells})", "max({self._square(norm)}) AS q FROM ({cells})"),
    ),
    *of(
        "engines/deadline.py",
        "unit/engines/test_deadline.py",
        ("            with self._changing:\n                self._until = None\n", "            pass\n"),
        ("                self._stop()\n", "                pass\n"),
    ),
    *of(
        "engines/weights.py",
        "unit/engines/test_weights.py conformance/test_engines.py laws/test_scan_sensitivity.py",
        ("least(q, {whole(limit + 1)})", "least(q, {whole(limit)})"),
        ("e - {low} + {high} AS {name}", "e + 1 AS {name}"),
        ('share = f"least(c, {whole(discovery.most)})"', 'share = "1"'),
    ),
]
