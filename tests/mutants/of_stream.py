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
        ("nodes[:opened] = fresh[used:used + opened]", "nodes[:opened] = 0"),
        ("used += opened", "used += opened - 1"),
        ("state.nodes.copy()", "state.nodes"),
    ),
    *of(
        "stream.tree:TreeSums.drawn_before",
        STREAMS,
        ("self.levels + 2 * (step - 1) - (step - 1).bit_count()", "self.levels + 2 * (step - 1)"),
    ),
    *of("stream.roots:RootSums.drawn_before", STREAMS, ("self.horizon if step else 0", "self.horizon")),
    *of(
        "stream.sums:RunningSums.noise_of",
        STREAMS,
        ("drawn is None", "True"),
    ),
    *of(
        "stream.noise_ahead:draw_ahead.found",
        STREAMS,
        ("known is not None", "False"),
        ("needed - len(ahead.numbers)", "needed"),
        ("left if progress.opened is None else progress.about", "progress.about"),
    ),
    *of("stream.noise_ahead:kept_noise", STREAMS, ("hash_of_text(text) != known", "False"), ("not text", "False")),
    *of("stream.noise_ahead:NoiseAhead.after", STREAMS, ("self.numbers[used:]", "self.numbers")),
    *of(
        "stream.files:PeopleFile.settle",
        STREAMS,
        ("before != mark", "False"),
        ("last == mark", "True"),
        ("connection.execute('INSERT INTO people SELECT person, rows FROM undo WHERE rows > 0')", "pass"),
    ),
    *of(
        "stream.files:PeopleFile.write",
        STREAMS,
        ("connection.executemany('INSERT OR REPLACE INTO people VALUES (?, ?)', changed.items())", "pass"),
        ("connection.executemany('INSERT INTO undo VALUES (?, ?)', known)", "pass"),
    ),
    *of("stream.files:moved_total", STREAMS, ("(total + sum(moves)) % _MODULUS", "total")),
    *of(
        "stream.durable:RunningStream._settle",
        STREAMS,
        ("not self._unsure", "True"),
        ("self._people.settle(self._kept.people)", "pass"),
    ),
    *of("stream.durable:RunningStream._leave_to_others", STREAMS, ("self._files.drop_next()", "pass")),
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
        ("self.changed[hashed] = before + 1", "pass"),
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
        ("book.close_steps(self._receipt, opening=opening, state=hash_of(body), kept=left)", "pass"),
        ("_left(ahead.after(upto, rows * sums.width))", "text"),
        ("self._files.write_next(body)", "pass"),
    ),
    *of(
        "stream.durable:_recovered",
        STREAMS,
        ("(progress.step, progress.state) != (kept.step, hash_of(body))", "progress.step != kept.step"),
        ("(progress.step, progress.state) != (kept.step, hash_of(body))", "False"),
    ),
    *of("stream.durable:RunningStream._check", STREAMS, ("os.getpid() != self._process", "False")),
    *of("stream.stream_state:write_kept", STREAMS, ("secrets.token_hex(32)", "'0' * 64")),
    *of("stream.files:StreamFiles.lock", STREAMS, ("fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)", "pass")),
]
