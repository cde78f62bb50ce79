"""Questions of an account in a line of words, for lists and headings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privet.server.token_store import AskedQuestion

TESTS: Mapping[str, str] = {
    "MeanTest": "Is a mean what you expect?",
    "MeansTest": "Do means differ between groups?",
    "PairedTest": "Do paired measurements differ?",
    "Proportion": "Is a proportion what you expect?",
    "TwoProportions": "Do two proportions differ?",
    "EqualProportions": "Do several proportions differ?",
    "GoodnessOfFit": "Are shares what you expect?",
    "Independence": "Are two columns independent?",
    "SameRanks": "Are values of a group larger?",
}
"""Every test of `privet.study`, as the question that it answers."""


def question_words(asked: AskedQuestion) -> str:
    """Return what was asked, in one line: SQL as it is, and the rest in words."""
    body = asked.body
    table = str(body.get("table") or body.get("rows") or "")
    where = f" where {body['where']}" if body.get("where") else ""
    match asked.operation:
        case "ask" | "clipping":
            return str(body.get("question", ""))
        case "marginals":
            return f"Counts of {table}{where} by {_list(body.get('columns'))}"
        case "ranges":
            return f"Ranges of {body.get('column')} in {table}{where}"
        case "running":
            return f"Running totals of {table}{where} by {body.get('by')}"
        case "regress":
            return f"Regression on {table}{where}: {body.get('formula')}"
        case "test":
            return f"Test on {table}{where}: {_test(body.get('hypothesis'))}"
        case "choose":
            return f"Choice from {_list(body.get('options'))}: {body.get('score')}"
    return f"{asked.operation} {table}".strip()


def _list(values: Any) -> str:
    listed = [str(one) for one in values] if isinstance(values, list) else [str(values)]
    return ", ".join(listed[:8]) + (" …" if len(listed) > 8 else "")


def _test(hypothesis: Any) -> str:
    """Return a hypothesis by its kind and its fields."""
    if not isinstance(hypothesis, Mapping):
        return "a hypothesis"
    fields = [f"{name} {_value(value)}" for name, value in hypothesis.items() if name != "kind" and value is not None]
    return f"{TESTS.get(str(hypothesis.get('kind')), hypothesis.get('kind'))} {', '.join(fields)}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return _list(value) if isinstance(value, list) else str(value)
