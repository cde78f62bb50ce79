"""Asks the questions of the corpus and prints how many of each file are answered, refused and wrong.

`python tests/corpus/run.py` asks all of them; `3 12 tpch` those of items 3 and 12 and of the source tpch.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":  # as the tests do, by the name of its folder
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from corpus.corpus import HERE, Outcome, Worlds, files, judge, read_questions

ANSWERED, ASKED = HERE / "answered.json", HERE / "asked.json"
LAST = "(end)"
"""The last line of each list, so that git can put two lists together line by line."""

VERDICTS = ("answered", "refused", "wrong", "rightly refused")


def chosen(words: Sequence[str]) -> list[Path]:
    """Return the files that some words mean: paths, numbers of items, names of files or parts of them."""
    found = []
    for word in words:
        stem = Path(word).stem if word.endswith(".sql") else word
        number = f"{int(word):02d}_" if word.isdigit() else None
        fits = [file for file in files() if (file.name.startswith(number) if number else stem in file.stem)]
        if not fits:
            raise SystemExit(f"no file of the corpus is called {word}")
        found += [file for file in fits if file not in found]
    return found if words else files()


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts of each file and of all, one line each."""
    lines = [f"{'':28}{'questions':>10}{'answered':>10}{'refused':>10}{'wrong':>10}{'rightly refused':>17}"]
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.question.file, Counter())[outcome.verdict] += 1
    counts["all"] = sum(counts.values(), Counter())
    for file, count in counts.items():
        numbers = "".join(f"{count[verdict]:>{17 if ' ' in verdict else 10}}" for verdict in VERDICTS)
        lines.append(f"{file:28}{count.total():>10}{numbers}")
    return "\n".join(lines)


def share(outcomes: Sequence[Outcome]) -> float:
    """Return the share of the questions that can be answered which are answered."""
    can = [one for one in outcomes if one.question.refused is None]
    return sum(one.verdict == "answered" for one in can) / max(len(can), 1)


def planning(outcomes: Sequence[Outcome]) -> str:
    """Return the processor time of planning: the median, and the longest with its question."""
    timed = [one for one in outcomes if one.planning is not None]
    if not timed:
        return "nothing was planned"
    median = statistics.median(one.planning or 0.0 for one in timed)
    longest = max(timed, key=lambda one: one.planning or 0.0)
    return (
        f"planning: median {median * 1000:.1f} ms, longest {(longest.planning or 0.0) * 1000:.1f} ms "
        f"({longest.question.key})"
    )


_NAMED = re.compile(r"there is no (?:function|table|column) '([^']+)'|: ([A-Z_]{3,})(?: [A-Z_]+)* is not supported")


def untyped(outcome: Outcome) -> str | None:
    """Return the name that a refusal is about, if the question has no such name: one of the parser's own, say."""
    found = _NAMED.search(outcome.message) if outcome.verdict.endswith("refused") else None
    name = found and (found[1] or found[2])
    return name if name and name.upper() not in outcome.question.sql.upper() else None


def read_list(path: Path) -> set[str]:
    """Return the names of a list: questions that are treated as they should be, or all that were ever asked."""
    return set(json.loads(path.read_text(encoding="utf-8"))) - {LAST} if path.exists() else set()


def update(outcomes: Sequence[Outcome]) -> None:
    """Add to the lists what was asked now, and what of it is treated as it should be; nothing is taken out."""
    right = {one.question.key for one in outcomes if one.verdict in ("answered", "rightly refused")}
    for path, names in ((ASKED, {one.question.key for one in outcomes}), (ANSWERED, right)):
        path.write_text(json.dumps([*sorted(read_list(path) | names), LAST], indent=1) + "\n", encoding="utf-8")


def told(outcome: Outcome, brief: bool) -> str:
    """Return what became of a question and why, in one line or with the question."""
    first = f"{outcome.verdict:8} {outcome.question.key}"
    if brief:
        return f"{first}: {' '.join(outcome.message.split())[:150]}"
    return f"{first}\n{outcome.question.sql}\n  -> {outcome.message}\n"


def main() -> int:
    """Run the corpus, or a part of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files, numbers of items or names of sources; all if left out")
    parser.add_argument("--only", help="only questions with this in their names")
    parser.add_argument("--verbose", "-v", action="store_true", help="print what is refused or wrong, and why")
    parser.add_argument("--brief", action="store_true", help="print what is refused or wrong, one line each")
    parser.add_argument("--share", action="store_true", help="print only the share that is answered")
    parser.add_argument("--update", action="store_true", help="add to answered.json and asked.json")
    given = parser.parse_args()
    questions = [one for one in read_questions(chosen(given.files)) if not given.only or given.only in one.name]
    with Worlds() as worlds:
        outcomes = [judge(question, worlds[question.world]) for question in questions]
    if given.verbose or given.brief:
        for outcome in outcomes:
            if outcome.verdict in ("refused", "wrong"):
                print(told(outcome, given.brief))
    if given.share:
        print(f"{share(outcomes):.3f}")
    else:
        print(table(outcomes))
        print(f"answered, of those that can be: {share(outcomes):.1%}")
        print(planning(outcomes))
        if names := sorted({name for one in outcomes if (name := untyped(one))}):
            print(f"refusals name what nobody typed: {', '.join(names)}")
    if given.update:
        update(outcomes)
    return 1 if any(outcome.verdict == "wrong" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
