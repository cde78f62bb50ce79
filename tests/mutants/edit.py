"""Replaces a snippet of code in one definition of a module, by its syntax tree.

A snippet is an expression, a statement or several statements. It matches code of the same tree, whatever its layout and
its comments, in the definition that is named, but not in definitions inside it. A body of `...` in the old snippet
stands for any body, and in the new one for that same body, in the order of appearance: so `def f(x=1): ...` becomes
`def f(x=2): ...`. An empty new snippet removes statements. Only the statements concerned are written anew; the rest of
the source stays as it is.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeGuard

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Body = list[ast.stmt]


class Lost(Exception):
    """The definition or the code of a mutant is not found exactly once."""


@dataclass(frozen=True)
class Place:
    """Where code matches: a field of a node, which holds one expression, or statements from start to stop."""

    parent: ast.AST
    field: str
    start: int | None
    stop: int | None
    bodies: tuple[Body, ...]


def edited(source: str, qualname: str, old: str, new: str) -> str:
    """Return the source with the old snippet, found exactly once in the definition, replaced by the new one."""
    found = _parsed(source)
    places = _found(found, qualname, old, new)
    if len(places) != 1:
        raise Lost(f"its code occurs {len(places)} times in {qualname or 'the module'}")
    tree, place = copy.deepcopy((found, places[0]))
    lines, first, last = _replace(tree, place, new)
    wanted = ast.unparse(tree)
    result = _spliced(source, lines, first, last)
    try:
        if _tree(result) == _tree(wanted):
            return result
    except SyntaxError:
        pass
    return wanted


def find(source: str, qualname: str, old: str, new: str) -> list[Place]:
    """Return every place in the definition where the old snippet stands."""
    return _found(_parsed(source), qualname, old, new)


def _found(tree: ast.Module, qualname: str, old: str, new: str) -> list[Place]:
    before, after = parse(old), parse(new)
    roots = [(tree, tree)] if not qualname else list(_definitions(tree, qualname))
    if not roots:
        raise Lost(f"there is no {qualname}")
    found: list[Place] = []
    for parent, root in roots:
        if len(before) == len(after) == 1 and isinstance(before[0], ast.Expr) and isinstance(after[0], ast.Expr):
            found += _expressions(root, before[0].value)
        else:
            found += _statements(parent, root, before)
    return found


def parse(snippet: str) -> Body:
    """Return the statements of a snippet."""
    text = textwrap.dedent(snippet).strip()
    try:
        return ast.parse(text).body
    except SyntaxError:
        return ast.parse(f"({text})").body  # an expression over several lines


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _definitions(node: ast.AST, qualname: str) -> Iterator[tuple[ast.AST, Definition]]:
    """Yield every definition of this name, with its parent."""
    name, _, rest = qualname.partition(".")
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            if child.name == name:
                yield from _definitions(child, rest) if rest else [(node, child)]
        elif not isinstance(child, ast.expr):
            yield from _definitions(child, qualname)


def _expressions(root: ast.AST, wanted: ast.expr) -> Iterator[Place]:
    """Yield where an expression stands, but not in definitions inside."""
    for field, value in ast.iter_fields(root):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.expr) and _same(wanted, child, []):
                yield Place(root, field, index, None, ())
            if isinstance(child, ast.AST) and not isinstance(child, Definition):
                yield from _expressions(child, wanted)


def _statements(parent: ast.AST, root: ast.AST, wanted: Body) -> Iterator[Place]:
    """Yield where statements stand: the definition itself or something in it, but not in definitions inside."""
    if parent is not root:
        yield from _slices(parent, wanted, only=root)
    yield from _statements_inside(root, wanted)


def _statements_inside(root: ast.AST, wanted: Body) -> Iterator[Place]:
    yield from _slices(root, wanted)
    for child in ast.iter_child_nodes(root):
        if not isinstance(child, Definition | ast.expr):
            yield from _statements_inside(child, wanted)


def _slices(node: ast.AST, wanted: Body, only: ast.AST | None = None) -> Iterator[Place]:
    """Yield where statements stand in the lists of one node; with `only`, no more than that statement."""
    for field, value in ast.iter_fields(node):
        if not _is_body(value):
            continue
        for start in range(len(value) - len(wanted) + 1):
            piece = value[start : start + len(wanted)]
            bodies: list[Body] = []
            if (only is None or piece == [only]) and all(map(lambda a, b: _same(a, b, bodies), wanted, piece)):
                yield Place(node, field, start, start + len(wanted), tuple(bodies))


def _is_body(value: object) -> TypeGuard[Body]:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def _is_any(value: object) -> bool:
    """Tell whether a body is `...`."""
    return (
        _is_body(value)
        and len(value) == 1
        and isinstance(value[0], ast.Expr)
        and isinstance(value[0].value, ast.Constant)
        and value[0].value.value is ...
    )


def _same(wanted: Any, found: Any, bodies: list[Body]) -> bool:
    """Tell whether two trees are equal, and collect the bodies for which `...` stands."""
    if type(wanted) is not type(found):
        return False
    if isinstance(wanted, list):
        if _is_any(wanted) and _is_body(found):
            bodies.append(found)
            return True
        return len(wanted) == len(found) and all(_same(a, b, bodies) for a, b in zip(wanted, found, strict=True))
    if isinstance(wanted, ast.AST):
        return all(_same(getattr(wanted, name, None), getattr(found, name, None), bodies) for name in wanted._fields)
    return bool(wanted == found)


def _replace(tree: ast.Module, place: Place, new: str) -> tuple[Body, ast.stmt, ast.stmt]:
    """Replace what stands at a place, and return the statements to write and the first and last that they replace."""
    after = parse(new)
    value = getattr(place.parent, place.field)
    if place.stop is not None:
        removed = value[place.start : place.stop]
        _fill(after, list(place.bodies))
        value[place.start : place.stop] = after
        if not value:
            after = [ast.Pass()]
            value.append(after[0])
        return after, removed[0], removed[-1]
    expression = after[0]
    assert isinstance(expression, ast.Expr)
    holder = _statement_of(tree, place.parent)
    if place.start is None:
        setattr(place.parent, place.field, expression.value)
    else:
        value[place.start] = expression.value
    return [holder], holder, holder


def _fill(body: Sequence[ast.AST], bodies: list[Body]) -> None:
    """Put the bodies that were matched where the new snippet has `...`, in their order."""
    for node in body:
        for field, value in ast.iter_fields(node):
            if _is_any(value) and bodies:
                setattr(node, field, bodies.pop(0))
            elif isinstance(value, list):
                _fill([item for item in value if isinstance(item, ast.AST)], bodies)


def _statement_of(tree: ast.Module, node: ast.AST) -> ast.stmt:
    """Return the innermost statement that a node is or stands in."""
    held = [item for item in ast.walk(tree) if isinstance(item, ast.stmt) and any(node is x for x in ast.walk(item))]
    return held[-1]


def _spliced(source: str, lines: Body, first: ast.stmt, last: ast.stmt) -> str:
    """Return the source with the text from the first to the last statement replaced."""
    text = source.encode().splitlines(keepends=True)
    decorators = first.decorator_list if isinstance(first, Definition) else []
    start = min([first.lineno, *(decorator.lineno for decorator in decorators)])
    written = "\n".join(ast.unparse(ast.fix_missing_locations(line)) for line in lines)
    written = textwrap.indent(written, " " * first.col_offset).lstrip(" ")
    before = b"".join(text[: start - 1]) + text[start - 1][: first.col_offset]
    after = text[last.end_lineno - 1][last.end_col_offset :] + b"".join(text[last.end_lineno :])
    return before.decode() + written + after.decode()


def _tree(source: str) -> str:
    return ast.dump(ast.parse(ast.unparse(ast.parse(source))))
