"""Random questions in the accepted language over a random setting: most are answered, the rest refused by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from random_tables import Setting

from privet.core.unit import Person, Rows, unit_columns

Scope = list[tuple[str, str]]
"""What can be named, and of which kind it is."""

SHARP = [
    "0.99999999999999999999",
    "0.49999999999999994",
    "2.999999999999999999999999999999",
    "5e-324",
    "1e308",
    "1e-200",
]
"""Numbers at which doubles and exact arithmetic part: their floor, their half, their product."""


@dataclass(frozen=True)
class Part:
    """Something that can stand in FROM: its text, its columns and their kinds; the unit's columns come first."""

    sql: str
    columns: Scope
    unit: tuple[str, ...]


class Writer:
    """Writes questions."""

    def __init__(self, draw: random.Random, setting: Setting) -> None:
        self.draw = draw
        self.setting = setting
        self.count = 0
        self.ctes: list[str] = []

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # --- values -----------------------------------------------------------------------------------------------------

    def of(self, scope: Scope, *kinds: str) -> str | None:
        found = [name for name, kind in scope if kind in kinds]
        return self.draw.choice(found) if found else None

    def value(self, kind: str, scope: Scope, depth: int) -> str:
        """Return an expression of a kind."""
        own = self.of(scope, kind)
        if depth <= 0 or (own and self.draw.random() < 0.35):
            return own or self.constant(kind)
        return {
            "integer": self.integer,
            "number": self.number,
            "text": self.text,
            "boolean": self.boolean,
            "date": self.date,
            "timestamp": self.moment,
        }[kind](scope, depth - 1)

    def constant(self, kind: str) -> str:
        return self.draw.choice(
            {
                "integer": ["0", "1", "-3", "7", "9223372036854775807", "(-9223372036854775807 - 1)"],
                "number": ["0.5", "2.0", "-1.25", "1e300", "1e-300", "0.1", *SHARP],
                "text": ["'u'", "''", "'%'", "'é'", "'12'", "'''; --'"],
                "boolean": ["TRUE", "FALSE"],
                "date": ["DATE '2024-01-05'", "DATE '0001-01-01'", "DATE '9999-12-31'"],
                "timestamp": ["TIMESTAMP '2024-01-05 10:00:00'", "TIMESTAMP '9999-12-31 23:59:59'"],
            }[kind]
        )

    def whole_or_not(self, scope: Scope, depth: int) -> str:
        return self.value(self.draw.choice(["integer", "number"]), scope, depth)

    def case(self, kind: str, scope: Scope, depth: int) -> str:
        default = "" if self.draw.random() < 0.3 else f" ELSE {self.value(kind, scope, depth)}"
        return f"CASE WHEN {self.value('boolean', scope, depth)} THEN {self.value(kind, scope, depth)}{default} END"

    def any_kind(self, kind: str, scope: Scope, depth: int) -> str:
        one, other = self.value(kind, scope, depth), self.value(kind, scope, depth)
        return self.draw.choice([self.case(kind, scope, depth), f"COALESCE({one}, {other})", f"NULLIF({one}, {other})"])

    def integer(self, scope: Scope, depth: int) -> str:
        one, other = self.value("integer", scope, depth), self.value("integer", scope, depth)
        real, words = self.value("number", scope, depth), self.value("text", scope, depth)
        when = self.value(self.draw.choice(["date", "timestamp"]), scope, depth)
        unit = self.draw.choice(["day", "week", "month", "quarter", "year"])
        return self.draw.choice(
            [
                f"({one} {self.draw.choice(['+', '-', '*', '%', '//'])} {other})",
                f"{self.draw.choice(['ABS', 'SIGN', '-'])}({one})",
                f"{self.draw.choice(['FLOOR', 'CEIL', 'TRUNC', 'ROUND', 'SIGN'])}({real})",
                f"LEAST(GREATEST({one}, -3), 8)",
                f"{self.draw.choice(['LENGTH', 'OCTET_LENGTH', 'LEN'])}({words})",
                f"STRPOS({words}, {self.value('text', scope, depth)})",
                f"DATEDIFF({unit}, {when}, {self.value('date', scope, depth)})",
                f"CAST({self.draw.choice([real, words])} AS BIGINT)",
                f"BIN({one}, {self.draw.choice(['1', '3', '10', '1000000'])})",
                f"BUCKET({real}, 0, {self.draw.choice(['1', '10', '0.001'])}, {self.draw.choice(['1', '7'])})",
                f"EXTRACT({self.draw.choice(['year', 'quarter', 'week', 'day', 'isodow', 'doy'])} FROM {when})",
                f"DATE_DIFF('{unit}', {when}, {self.value('date', scope, depth)})",
                f"({self.value('date', scope, depth)} - {self.value('date', scope, depth)})",
                f"EPOCH_US({when})",
                self.any_kind("integer", scope, depth),
            ]
        )

    def number(self, scope: Scope, depth: int) -> str:
        one, other = self.whole_or_not(scope, depth), self.whole_or_not(scope, depth)
        return self.draw.choice(
            [
                f"({one} {self.draw.choice(['+', '-', '*'])} {self.value('number', scope, depth)})",
                f"({one} / {other})",
                f"({self.value('number', scope, depth)} % {other})",
                f"{self.draw.choice(['SQRT', 'LN', 'LOG10', 'LOG2', 'EXP'])}({one})",
                f"SAFE_DIVIDE({one}, {other})",
                f"POWER({one}, {self.draw.choice(['2', '-1', '0.5', other])})",
                f"ROUND({one}, {self.draw.choice(['-2', '0', '3'])})",
                f"LEAST(GREATEST({self.value('number', scope, depth)}, -2.5), 4)",
                f"CAST({self.draw.choice([one, self.value('text', scope, depth)])} AS DOUBLE)",
                f"BIN({one}, {self.draw.choice(['0.5', '0.1'])})",
                f"({self.value('timestamp', scope, depth)} - {self.value('timestamp', scope, depth)})",
                f"EPOCH({self.value('timestamp', scope, depth)})",
                self.any_kind("number", scope, depth),
            ]
        )

    def text(self, scope: Scope, depth: int) -> str:
        one, other = self.value("text", scope, depth), self.value("text", scope, depth)
        whole = self.value(self.draw.choice(["integer", "boolean", "date"]), scope, depth)
        return self.draw.choice(
            [
                f"{self.draw.choice(['LOWER', 'UPPER', 'TRIM', 'LTRIM', 'RTRIM'])}({one})",
                f"REPLACE({one}, 'u', 'vv')",
                f"LPAD({one}, 3, '0')",
                f"SPLIT_PART({one}, ' ', 1)",
                f"RIGHT({one}, {self.draw.choice(['0', '1', '5'])})",
                f"STRFTIME({self.value(self.draw.choice(['date', 'timestamp']), scope, depth)}, '%Y-%m %a')",
                f"SUBSTRING({one}, {self.draw.choice(['1', '2', '99'])}, {self.draw.choice(['0', '1', '5'])})",
                f"LEFT({one}, {self.draw.choice(['0', '1', '2'])})",
                f"({one} || {other})",
                f"CONCAT({one}, {other})",
                f"CAST({whole} AS VARCHAR)",
                self.any_kind("text", scope, depth),
            ]
        )

    def boolean(self, scope: Scope, depth: int) -> str:
        kind = self.draw.choice(["integer", "number", "text", "date", "timestamp", "boolean"])
        one, other = self.value(kind, scope, depth), self.value(kind, scope, depth)
        words = self.value("text", scope, depth)
        sign = self.draw.choice(["=", "<>", "<", "<=", ">", ">="])
        listed = ", ".join(self.constant("text" if kind not in {"integer", "number"} else "integer") for _ in range(3))
        among = one if kind in {"integer", "number"} else words
        pattern = self.draw.choice(["'%u%'", "'_'", "'%'", "''", "'u\\%' ESCAPE '\\'", "'%x%_%'"])
        first, second = self.value("boolean", scope, depth), self.value("boolean", scope, depth)
        return (
            self.draw.choice(
                [
                    f"{one} {sign} {other}",
                    f"{one} {sign} {other}",
                    f"{one} IS {self.draw.choice(['', 'NOT '])}NULL",
                    f"{among} {self.draw.choice(['', 'NOT '])}IN ({listed})",
                    f"{words} {self.draw.choice(['', 'NOT '])}{self.draw.choice(['LIKE', 'ILIKE'])} {pattern}",
                    f"{one} IS {self.draw.choice(['', 'NOT '])}DISTINCT FROM {other}",
                    f"({one}, {words}) IN (({other}, 'u'), ({one}, ''))",
                    f"{one} BETWEEN {other} AND {self.value(kind, scope, depth)}",
                    f"(({first}) {self.draw.choice(['AND', 'OR'])} ({second}))",
                    f"NOT ({first})",
                    f"({first}) IS {self.draw.choice(['TRUE', 'FALSE', 'NOT TRUE'])}",
                    f"{self.draw.choice(['STARTS_WITH', 'CONTAINS'])}({words}, {self.value('text', scope, depth)})",
                    f"CAST({self.draw.choice([words, self.value('integer', scope, depth)])} AS BOOLEAN)",
                ]
            )
            if kind != "boolean"
            else self.draw.choice([f"({first}) = ({second})", self.any_kind("boolean", scope, depth)])
        )

    def shifted(self, kind: str, one: str) -> str:
        units = ["DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *(["HOUR", "SECOND"] if kind == "timestamp" else [])]
        amount = self.draw.choice(["1", "-1", "40", "99999", "999999999"])
        return f"({one} {self.draw.choice('+-')} INTERVAL '{amount}' {self.draw.choice(units)})"

    def date(self, scope: Scope, depth: int) -> str:
        one = self.value("date", scope, depth)
        other = self.value(self.draw.choice(["timestamp", "text"]), scope, depth)
        unit = self.draw.choice(["day", "week", "month", "quarter", "year"])
        return self.draw.choice(
            [
                self.shifted("date", one),
                f"DATE_TRUNC('{unit}', {one})",
                f"CAST({other} AS DATE)",
                self.any_kind("date", scope, depth),
            ]
        )

    def moment(self, scope: Scope, depth: int) -> str:
        one = self.value("timestamp", scope, depth)
        other = self.value(self.draw.choice(["date", "text"]), scope, depth)
        unit = self.draw.choice(["second", "minute", "hour", "day", "week", "month", "year"])
        return self.draw.choice(
            [
                self.shifted("timestamp", one),
                f"DATE_TRUNC('{unit}', {one})",
                f"CAST({other} AS TIMESTAMP)",
                self.any_kind("timestamp", scope, depth),
            ]
        )

    # --- rows -------------------------------------------------------------------------------------------------------

    def stored(self, name: str) -> Part:
        schema = self.setting.tables[name]
        columns = [(column, facts.kind) for column, facts in schema.columns.items()]
        return Part(name, columns, unit_columns(schema.unit))

    def part(self, depth: int) -> Part:
        """Return private rows."""
        if depth <= 0:
            return self.stored(self.draw.choice(self.setting.private))
        ways: list[Callable[[int], Part]] = [self.narrowed, self.with_public]
        if not isinstance(self.setting.unit, Rows):
            ways += [self.joined, self.joined, self.linked, self.keyed, self.grouped, self.distinct, self.ranked]
            ways.append(self.united)
        if isinstance(self.setting.unit, Person):
            ways.append(self.members)
        made = self.draw.choice(ways)(depth - 1)
        if self.draw.random() < 0.2:
            name = self.fresh("w")
            self.ctes.append(f"{name} AS {made.sql}")
            return Part(name, made.columns, made.unit)
        return made

    def under(self, alias: str, part: Part) -> Scope:
        return [(f"{alias}.{name}", kind) for name, kind in part.columns]

    def shown(
        self, scope: Scope, unit: Sequence[str], names: Sequence[str] | None = None
    ) -> tuple[str, Scope, tuple[str, ...]]:
        """Return a SELECT list of the unit, some columns and something computed; and what it makes."""
        called = tuple(names or (self.fresh("who") if self.draw.random() < 0.3 else one.split(".")[-1] for one in unit))
        kinds = dict(scope)
        listed = [f"{one} AS {name}" for one, name in zip(unit, called, strict=True)]
        made = [(name, kinds[one]) for one, name in zip(unit, called, strict=True)]
        others = [item for item in scope if item[0] not in unit]
        for one, kind in self.draw.sample(others, min(len(others), 5)):
            name = self.fresh("c")
            listed.append(f"{one} AS {name}")
            made.append((name, kind))
        for _ in range(self.draw.choice([0, 1, 2])):
            name, kind = self.fresh("e"), self.draw.choice(["integer", "number", "text", "boolean", "date"])
            listed.append(f"{self.value(kind, scope, 2)} AS {name}")
            made.append((name, kind))
        return ", ".join(listed or ["1 AS one"]), made or [("one", "integer")], called

    def where(self, scope: Scope, chance: float = 0.5) -> str:
        return f" WHERE {self.value('boolean', scope, 2)}" if self.draw.random() < chance else ""

    def nested(self, scope: Scope, unit: Sequence[str]) -> str:
        """Return a condition with a sub-query: of public rows, or of those of the same person."""
        s, no = self.fresh("s"), self.draw.choice(["", "NOT "])
        if not unit or self.draw.random() < 0.4:
            place, x = self.value("text", scope, 1), self.whole_or_not(scope, 1)
            kept = self.draw.choice(["", " WHERE place IS NOT NULL", " WHERE area = 'n'"])
            function = self.draw.choice(["MAX", "AVG", "COUNT", "SUM"])
            return self.draw.choice(
                [
                    f"{place} {no}IN (SELECT place FROM areas{kept})",
                    f"{no}EXISTS (SELECT 1 FROM areas AS {s} WHERE {s}.place = {place})",
                    f"{x} > (SELECT {function}(band) FROM bands)",
                    f"{no}EXISTS (SELECT 1 FROM bands AS {s} WHERE {s}.least < {x})",
                    f"COALESCE((SELECT {s}.area FROM areas AS {s} WHERE {s}.place = {place}), 's') = 's'",
                ]
            )
        other = self.part(self.draw.choice([0, 0, 1]))
        theirs = self.under(s, other)
        same = " AND ".join(f"{s}.{mine} = {one}" for mine, one in zip(other.unit, unit, strict=True))
        kind = self.draw.choice(["integer", "number", "text", "date"])
        mine, their = self.value(kind, scope, 1), self.of(theirs, kind) or f"{s}.{other.unit[0]}"
        sign = self.draw.choice(["<", "<=", ">", ">=", "<>", "="])
        x = self.of(theirs, "integer", "number") or "1"
        function = self.draw.choice(["COUNT(*)", f"COUNT({x})", f"MAX({x})", f"MIN({x})", f"COUNT(DISTINCT {x})"])
        source = f"FROM {other.sql} AS {s} WHERE {same}"
        more = f" AND {self.value('boolean', theirs, 1)}" if self.draw.random() < 0.4 else ""
        return self.draw.choice(
            [
                f"{no}EXISTS (SELECT 1 {source}{more})",
                f"{no}EXISTS (SELECT * {source} AND {their} {sign} {mine}{more})",
                f"{no}EXISTS (SELECT * {source} AND {their} {sign} {mine} AND {their} <> {mine})",
                f"(SELECT {function} {source}{more}) > {self.draw.choice('012')}",
                f"(SELECT {function} {source} AND {their} <= {mine}{more}) > {self.draw.choice('012')}",
                f"({mine} {no}IN (SELECT {their} {source}{more})) IS NOT TRUE",
                f"{unit[0]} {no}IN (SELECT {s}.{other.unit[0]} FROM {other.sql} AS {s})",
            ]
        )

    def selected(self, source: str, scope: Scope, unit: Sequence[str], more: str = "") -> Part:
        listed, made, called = self.shown(scope, unit)
        where = self.where(scope)
        if self.draw.random() < 0.25:
            nested = self.nested(scope, unit)
            more = f"{more} AND {nested}" if more else nested
        if more:
            where = f"{where} AND {more}" if where else f" WHERE {more}"
        return Part(f"(SELECT {listed} FROM {source}{where})", made, called)

    def narrowed(self, depth: int) -> Part:
        inner, t = self.part(depth), self.fresh("t")
        return self.selected(f"{inner.sql} AS {t}", self.under(t, inner), [f"{t}.{one}" for one in inner.unit])

    def with_public(self, depth: int) -> Part:
        inner, t, o = self.part(depth), self.fresh("t"), self.fresh("o")
        scope, unit = self.under(t, inner), [f"{t}.{one}" for one in inner.unit]
        kind = self.draw.choice(["JOIN", "LEFT JOIN"])
        if self.draw.random() < 0.4 and not isinstance(self.setting.unit, Rows):
            public = self.stored("bands")
            x = self.whole_or_not(scope, 1)
            on = f"{o}.least <= {x} AND {x} < {o}.most"
        else:
            public = self.stored("areas")
            on = f"{self.value('text', scope, 1)} = {o}.place"
        source = f"{inner.sql} AS {t} {kind} {public.sql} AS {o} ON {on}"
        return self.selected(source, scope + self.under(o, public), unit)

    def joined(self, depth: int) -> Part:
        left, right = self.part(depth), self.part(self.draw.randint(0, depth))
        a, b = self.fresh("t"), self.fresh("t")
        scope = self.under(a, left) + self.under(b, right)
        on = " AND ".join(f"{a}.{one} = {b}.{other}" for one, other in zip(left.unit, right.unit, strict=True))
        if self.draw.random() < 0.4:
            on += f" AND {self.value('boolean', scope, 1)}"
        kind = self.draw.choice(["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", ","])
        if kind == ",":  # tables side by side, and what joins them in WHERE
            unit = [f"{a}.{one}" for one in left.unit]
            return self.selected(f"{left.sql} AS {a}, {right.sql} AS {b}", scope, unit, on)
        if self.draw.random() < 0.15:
            if isinstance(self.setting.unit, Person) and left.unit == right.unit and self.draw.random() < 0.5:
                using = f"{left.sql} AS {a} FULL JOIN {right.sql} AS {b} USING ({left.unit[0]})"
                named = [(left.unit[0], dict(left.columns)[left.unit[0]])]
                rest = [one for one in scope if one[0].split(".")[-1] != left.unit[0]]
                return self.selected(using, [*named, *rest], [left.unit[0]])
            match = f"{left.sql} AS {a} {self.draw.choice(['SEMI', 'ANTI'])} JOIN {right.sql} AS {b} ON {on}"
            return self.selected(match, self.under(a, left), [f"{a}.{one}" for one in left.unit])
        kept = b if kind == "RIGHT JOIN" else a
        unit = [f"{kept}.{one}" for one in (right if kept == b else left).unit]
        return self.selected(f"{left.sql} AS {a} {kind} {right.sql} AS {b} ON {on}", scope, unit)

    def linked(self, depth: int) -> Part:
        left, right = self.stored("drugs"), self.stored("visits")
        a, b = self.fresh("t"), self.fresh("t")
        kind = self.draw.choice(["JOIN", "LEFT JOIN"])
        source = f"drugs AS {a} {kind} visits AS {b} ON {a}.visit = {b}.id"
        return self.selected(source, self.under(a, left) + self.under(b, right), [f"{a}.{one}" for one in left.unit])

    def keyed(self, depth: int) -> Part:
        """Return rows joined to a stored table by a column that may be declared as its key, beside who they are."""
        left, right, (a, b) = self.part(depth), self.stored("visits"), (self.fresh("t"), self.fresh("t"))
        on = [f"{a}.{one} = {b}.{other}" for one, other in zip(left.unit, right.unit, strict=True)]
        scope = self.under(a, left)
        on.append(f"{self.value('integer', scope, self.draw.choice([0, 1]))} = {b}.id")
        kind = self.draw.choice(["JOIN", "LEFT JOIN"])
        source = f"{left.sql} AS {a} {kind} visits AS {b} ON {' AND '.join(on)}"
        return self.selected(source, scope + self.under(b, right), [f"{a}.{one}" for one in left.unit])

    def within(self, scope: Scope) -> tuple[str, str]:
        """Return an aggregate of one person's rows, and its kind."""
        kind = self.draw.choice(["integer", "number"])
        x, kept = self.value(kind, scope, 1), self.where(scope, 0.3)
        function = self.draw.choice(["COUNT(*)", "COUNT", "COUNT(DISTINCT", "SUM", "AVG", "MIN", "MAX"])
        form = function if function == "COUNT(*)" else f"{function}{' ' if '(' in function else '('}{x})"
        made = "integer" if function.startswith("COUNT") else "number" if function == "AVG" else kind
        return form + (f" FILTER ({kept.strip()})" if kept else ""), made

    def grouped(self, depth: int) -> Part:
        inner, t = self.part(depth), self.fresh("t")
        scope, unit = self.under(t, inner), [f"{t}.{one}" for one in inner.unit]
        kinds = dict(scope)
        keys, made = list(unit), [(one, kinds[f"{t}.{one}"]) for one in inner.unit]
        listed = [f"{one} AS {name}" for one, (name, _) in zip(unit, made, strict=True)]
        if self.draw.random() < 0.4:
            name, kind = self.fresh("k"), self.draw.choice(["integer", "text", "boolean"])
            key = self.value(kind, scope, 1)
            if key not in keys and any(one in key for one, _ in scope):
                keys.append(key)
                listed.append(f"{key} AS {name}")
                made.append((name, kind))
        for _ in range(self.draw.choice([1, 2, 3])):
            (sql, kind), name = self.within(scope), self.fresh("a")
            listed.append(f"{sql} AS {name}")
            made.append((name, kind))
        having = f" HAVING {self.within(scope)[0]} > {self.draw.choice('013')}" if self.draw.random() < 0.3 else ""
        sql = (
            f"SELECT {', '.join(listed)} FROM {inner.sql} AS {t}{self.where(scope)} GROUP BY {', '.join(keys)}{having}"
        )
        return Part(f"({sql})", made, inner.unit)

    def distinct(self, depth: int) -> Part:
        made = self.narrowed(depth)
        return Part(made.sql.replace("(SELECT ", "(SELECT DISTINCT ", 1), made.columns, made.unit)

    def ranked(self, depth: int) -> Part:
        inner, t = self.part(depth), self.fresh("t")
        scope, unit = self.under(t, inner), [f"{t}.{one}" for one in inner.unit]
        listed, made, called = self.shown(scope, unit)
        name, over = self.fresh("r"), self.draw.choice(scope)
        function, kind = self.draw.choice(
            [("ROW_NUMBER()", "integer"), ("RANK()", "integer"), ("DENSE_RANK()", "integer")]
            + [(f"{way}({over[0]}{more})", over[1]) for way in ("LAG", "LEAD") for more in ("", ", 2")]
        )
        partition = [*unit, *([self.draw.choice(scope)[0]] if self.draw.random() < 0.3 else [])]
        order = f"{self.draw.choice(scope)[0]}{self.draw.choice(['', ' DESC', ' DESC NULLS LAST'])}"
        frame = ""
        if self.draw.random() < 0.3:  # an aggregate over the person's rows, with a frame or without
            x = self.of(scope, "integer", "number")
            function, kind = self.draw.choice([("COUNT(*)", "integer"), *([(f"SUM({x})", "number")] if x else [])])
            frame = self.draw.choice(["", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS UNBOUNDED PRECEDING"])
        over = f"{function} OVER (PARTITION BY {', '.join(partition)} ORDER BY {order}{frame})"
        rows = f"FROM {inner.sql} AS {t}{self.where(scope)}"
        if kind == "integer" and self.draw.random() < 0.3:
            return Part(f"(SELECT {listed} {rows} QUALIFY {over} <= {self.draw.choice('123')})", made, called)
        return Part(f"(SELECT {listed}, {over} AS {name} {rows})", [*made, (name, kind)], called)

    def united(self, depth: int) -> Part:
        kinds = [self.draw.choice(["integer", "number", "text", "boolean", "date"]) for _ in range(3)]
        parts, first = [], ()
        for _ in range(self.draw.choice([2, 2, 3])):
            inner, t = self.part(self.draw.randint(0, depth)), self.fresh("t")
            scope, called = self.under(t, inner), first or inner.unit
            listed = [f"{t}.{one} AS {name}" for one, name in zip(inner.unit, called, strict=True)]
            listed += [f"{self.value(kind, scope, 1)} AS u{place}" for place, kind in enumerate(kinds)]
            parts.append(f"SELECT {', '.join(listed)} FROM {inner.sql} AS {t}{self.where(scope, 0.3)}")
            first, own = called, dict(scope)
            units = [(name, own[f"{t}.{one}"]) for one, name in zip(inner.unit, called, strict=True)]
        made = [*units, *((f"u{place}", kind) for place, kind in enumerate(kinds))]
        word = self.draw.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"])
        return Part(f"({f' {word} '.join(parts)})", made, first)

    def members(self, depth: int) -> Part:
        inner, other, t, s = self.part(depth), self.part(self.draw.randint(0, depth)), self.fresh("t"), self.fresh("t")
        chosen = f"(SELECT {s}.{other.unit[0]} FROM {other.sql} AS {s}{self.where(self.under(s, other))})"
        more = f"{t}.{inner.unit[0]} IN {chosen}"
        return self.selected(f"{inner.sql} AS {t}", self.under(t, inner), [f"{t}.{inner.unit[0]}"], more)

    # --- questions --------------------------------------------------------------------------------------------------

    def aggregate(self, scope: Scope, unit: Sequence[str]) -> str:
        x = self.bounded(scope)
        kept = self.where(scope, 0.25)
        some = self.value(self.draw.choice(["integer", "text", "number", "date", "boolean"]), scope, 1)
        several = ["COUNT(*)", f"COUNT({some})", f"SUM({x})", f"SUM({x})", f"AVG({x})", f"VAR_POP({x})", f"STDDEV({x})"]
        several += [
            f"COVAR_POP({x}, {self.bounded(scope)})",
            f"COUNT(DISTINCT {some})",
            f"CORR({self.bounded(scope)}, {x})",
            f"{self.draw.choice(['REGR_SLOPE', 'REGR_INTERCEPT', 'REGR_R2'])}({self.bounded(scope)}, {x})",
        ]
        several += [f"MEDIAN({x})", f"QUANTILE({x}, {self.draw.choice(['0.1', '0.9'])})", f"MAX({x})", f"MIN({x})"]
        when = self.value(self.draw.choice(["date", "timestamp"]), scope, self.draw.choice([0, 1]))
        several.append(f"{self.draw.choice(['MIN', 'MAX', 'AVG', 'AVG', 'MEDIAN'])}({when})")
        several += [f"MODE({self.key([item for item in scope if item[0] not in unit] or scope)})"] * 2
        several += [self.implied(scope), f"SUM(DISTINCT {x})"]
        if unit and isinstance(self.setting.unit, Person):
            several += [f"COUNT(DISTINCT {unit[0]})"] * 2
        return self.draw.choice(several) + (f" FILTER ({kept.strip()})" if kept else "")

    def implied(self, scope: Scope) -> str:
        """Return an aggregate of a column whose bounds follow from a condition of its own."""
        x = self.of(scope, "integer", "number") or "1"
        held = self.draw.choice(
            [
                f"{x} > -3 AND {x} <= 4.5",
                f"{x} BETWEEN 0 AND 6",
                f"{x} IN (1, 5, -2)",
                f"NOT ({x} < -1 OR {x} > 7)",
                f"{x} = 3 OR ({x} >= 5 AND {x} < 8)",
            ]
        )
        function, way = self.draw.choice(["SUM", "AVG", "VAR_POP", "MAX"]), self.draw.random()
        if way < 0.5:
            return f"{function}({x}) FILTER (WHERE {held})"
        return f"{function}(CASE WHEN {held} THEN {x} ELSE {self.draw.choice(['0', 'NULL', '2'])} END)"

    def each(self, scope: Scope, unit: Sequence[str]) -> str:
        """Return an aggregate with bounds of what each person contributes to a group."""
        ends = self.draw.choice(["(0, 5)", "(-4, 3.5)", "(2, 9)", "(-1e3, 0)", "(0, 1)"])
        stated = f"contribution_bounds_per_group => {ends}"
        x, some = self.whole_or_not(scope, self.draw.choice([0, 1])), self.value("text", scope, 1)
        several = [f"SUM({x}, {stated})", f"SUM({x}, {stated})", f"COUNT(*, {stated})", f"COUNT({some}, {stated})"]
        several += [f"AVG({x}, {stated})", f"SUM({self.bounded(scope)})", "COUNT(*)"]
        if unit and isinstance(self.setting.unit, Person):
            several.append(f"COUNT(DISTINCT {unit[0]})")
        return self.draw.choice(several)

    def bounded(self, scope: Scope) -> str:
        x = self.whole_or_not(scope, self.draw.choice([0, 1, 2]))
        ends = self.draw.choice([(0, 5), (-4, 3), (2, 9)])
        return x if self.draw.random() < 0.3 else f"LEAST(GREATEST({x}, {ends[0]}), {ends[1]})"

    def key(self, scope: Scope) -> str:
        """Return something to group by, which mostly depends on the row."""
        for _ in range(4):
            made = self.any_key(scope)
            if any(name in made for name, _ in scope):
                break
        return made

    def any_key(self, scope: Scope) -> str:
        kind = self.draw.choice(["boolean", "integer", "text", "text", "date"])
        own = self.of(scope, kind)
        if own and self.draw.random() < 0.6:
            return own
        if kind == "integer":
            return self.draw.choice(
                [f"BIN({self.bounded(scope)}, 2)", f"LEAST(GREATEST({self.value(kind, scope, 1)}, 0), 3)"]
            )
        if kind == "date":
            return f"EXTRACT(month FROM {self.value('date', scope, 1)})"
        return self.value(kind, scope, 1)

    def question(self) -> str:
        """Return one question."""
        self.ctes = []
        inner, t = self.part(self.draw.choice([0, 1, 1, 2, 2, 3])), self.fresh("t")
        scope, unit = self.under(t, inner), [f"{t}.{one}" for one in inner.unit]
        plain = [item for item in scope if item[0] not in unit] or scope
        keys = {self.fresh("k"): self.key(plain) for _ in range(self.draw.choice([0, 0, 1, 1, 2]))}
        asked = [f"{key} AS {name}" for name, key in keys.items()]
        asked += [f"{self.aggregate(scope, unit)} AS {self.fresh('a')}" for _ in range(self.draw.choice([1, 2, 3]))]
        chosen = self.draw.random()
        if chosen < 0.1:
            asked = [*asked[: len(keys)], f"TOP_K({self.key(plain)}, {self.draw.choice([1, 2, 5])})"]
        elif 0.3 < chosen < 0.45:
            several = [f"{self.each(scope, unit)} AS {self.fresh('a')}" for _ in range(self.draw.choice([1, 2]))]
            asked = [*asked[: len(keys)], *several]
        elif 0.45 < chosen < 0.5:
            row = self.draw.choice(["SUM", "AVG", "VAR_POP", "MAX"])
            x = self.whole_or_not(scope, 1)
            asked.append(f"{row}({x}, contribution_bounds_per_row => (-2, {self.draw.choice(['3', '0.5', '1e4'])}))")
        elif chosen < 0.2:
            asked.append(f"BOUNDS({self.whole_or_not(scope, 1)})")
        elif chosen < 0.27 and keys:
            asked = asked[: len(keys)]
        sql = f"SELECT {', '.join(asked)} FROM {inner.sql} AS {t}{self.where(scope)}"
        if keys:
            sql += f" GROUP BY {self.groups([self.draw.choice([name, key]) for name, key in keys.items()])}"
            sql += " HAVING COUNT(*) > 1" if self.draw.random() < 0.1 else ""
        way = self.draw.random()
        if way < 0.06:  # how many groups have rows
            listed = ", ".join(f"{self.key(plain)} AS {self.fresh('k')}" for _ in range(self.draw.choice([1, 2, 2])))
            sql = f"SELECT COUNT(*) FROM (SELECT DISTINCT {listed} FROM {inner.sql} AS {t}{self.where(scope)})"
        elif way < 0.12:
            turned = f"SELECT {self.key(plain)} AS k, {self.value('boolean', scope, 1)} AS f FROM {inner.sql} AS {t}"
            sql = f"SELECT * FROM ({turned}{self.where(scope)}) PIVOT (COUNT(*) FOR f IN (TRUE, FALSE))"
        elif way < 0.24:
            sql = self.computed(sql)
        return f"WITH {', '.join(self.ctes)} {sql}" if self.ctes else sql

    def computed(self, sql: str) -> str:
        """Return a question about what another one releases: it costs no more than that, and moves no more."""
        listed = self.draw.choice(["COUNT(*)", "*", "*, ROW_NUMBER() OVER () AS place", "*, COUNT(*) OVER () AS every"])
        return f"SELECT {listed} FROM ({sql}) AS r{self.draw.choice(['', ' LIMIT 3'])}"

    def groups(self, keys: list[str]) -> str:
        """Return what stands after GROUP BY: one grouping, or several levels."""
        listed = ", ".join(keys)
        some = self.draw.sample([keys[place:] for place in range(1, len(keys))] + [keys[:-1]], 1)
        sets = ", ".join(f"({', '.join(one)})" for one in [keys, *some])
        ways = [f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS ({sets})"]
        return self.draw.choice(ways) if self.draw.random() < 0.25 else listed
