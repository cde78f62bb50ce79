"""Breakages of running sums over streams: how far a unit moves them, which noise is drawn, what a step may follow."""

from __future__ import annotations

from mutant import Mutant, of

SUMS = "unit/stream/test_sums.py"
STREAMS = "unit/stream/test_running_stream.py"

MUTANTS: list[Mutant] = [
    *of(
        "stream.sums:RunningSums.moves",
        SUMS,
        ("2 if self.neighbors == 'change-one' else 1", "1"),
        ("self.bound * self.rows", "self.bound"),
    ),
    *of(
        "stream.sums:RunningSums.checked",
        SUMS,
        ("np.clip(given, -LARGEST_TOTAL, LARGEST_TOTAL)", "given"),
        ("past > self.horizon", "False"),
    ),
    *of("stream.tree:TreeSums.levels", SUMS, ("self.horizon.bit_length()", "max(1, self.horizon.bit_length() - 1)")),
    *of(
        "stream.tree:TreeSums.advance",
        SUMS,
        ("nodes[:opened] = drawn.take(opened)", "nodes[:opened] = 0"),
        ("state.nodes.copy()", "state.nodes"),
    ),
    *of(
        "stream.roots:RootSums.sensitivity_squared",
        SUMS,
        ("self.moves**2 * squares", "self.moves * squares"),
        ("sum(entry * entry for entry in self._column.tolist())", "int(self._column[0]) ** 2"),
    ),
    *of("stream.roots:RootSums._pending", SUMS, ("state.pending.copy()", "state.pending")),
    *of(
        "stream.buffered:BufferedSums.sensitivity",
        SUMS,
        ("2 * self.rounding * sqrt_up(Fraction(self.horizon * self.touched))", "0"),
        ("self.moves * 2**self.shift", "2**self.shift"),
    ),
    *of(
        "stream.buffered:BufferedSums.rounding",
        SUMS,
        ("Fraction(1, 2) + lost / 2**GUARD_BITS", "Fraction(2, 5)"),
    ),
    *of("stream.buffered:BufferedSums.column_squared", SUMS, ("self.horizon - 1", "self.horizon - 2")),
    *of(
        "stream.arrivals:Bounding._takes",
        STREAMS,
        ("before >= most", "before > most"),
        ("self.seen[hashed] = before + 1", "pass"),
    ),
    *of(
        "stream.arrivals:Layout.on_grid",
        STREAMS,
        ("min(max(steps, self.lowest), self.highest)", "steps"),
    ),
    *of("stream.arrivals:read_value", STREAMS, ("layout.rows is not None", "False"), ("layout.grid != 1", "False")),
    *of(
        "stream.durable:RunningStream._advance",
        STREAMS,
        ("book.close_steps(self._receipt, opening=opening, state=hash_of(body))", "pass"),
        ("self._files.write_next(body)", "pass"),
    ),
    *of(
        "stream.durable:_recovered",
        STREAMS,
        ("(found.step, found.state) != (kept.step, hash_of(body))", "found.step != kept.step"),
        ("(found.step, found.state) != (kept.step, hash_of(body))", "False"),
    ),
    *of("stream.durable:RunningStream._check", STREAMS, ("os.getpid() != self._process", "False")),
    *of("stream.stream_state:write_kept", STREAMS, ("secrets.token_hex(32)", "'0' * 64")),
    *of("stream.files:StreamFiles.lock", STREAMS, ("fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass")),
]
