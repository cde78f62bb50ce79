"""Finds the declared table that a name with dots means: schema.table, catalogue.schema.table, "quoted" or not.

A schema is a word before a name and nothing more: there is one set of tables, and no word makes another one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from privet.core.errors import BadParameter, RequestError, UnknownName, Unsupported
from privet.core.given import plain_text

from .clauses import Node, part

PUBLIC = "public"
"""The schema of all tables, where none is declared."""

DECLARED = "declared"
"""Marks an identifier that stands for a declared table or view, whatever a CTE is called."""

_MOST = 200


def read_schema(value: object) -> str | None:
    """Return the schema that tables are declared to be in: a name, or a catalogue and a name with a dot between."""
    if value is None:
        return None
    words = plain_text(value, "schema").split(".")
    if not 1 <= len(words) <= 2 or not all(word.strip() for word in words) or sum(map(len, words)) > _MOST:
        raise BadParameter("schema", value, "a name such as 'clinic', or a catalogue and a name: 'warehouse.clinic'")
    return ".".join(words)


def find_table(path: Sequence[tuple[str, bool]], names: Collection[str], schema: str | None) -> str:
    """Return the declared name that a path of names means; each is exact where it is quoted.

    Raises:
        UnknownName: if there is no such table, or its schema is another one.
    """
    for name in names:  # a table may be declared with its schema in its name
        words = name.split(".")
        if len(words) == len(path) > 1 and all(map(_means, path, words)):
            return name
    table = path[-1]
    found = [name for name in names if _means(table, name)]
    exact = [name for name in found if name == table[0]] or found
    if not exact:
        raise UnknownName("table", ".".join(word for word, _ in path), names)
    # a schema that is called as its one table, as in PUMS.PUMS, says no more than the table's name
    allowed = [schema] if schema is not None else [PUBLIC, exact[0]]
    for one in allowed:
        words = one.split(".")
        before = path[:-1]
        if len(before) <= len(words) and all(map(_means, before, words[len(words) - len(before) :])):
            return exact[0]
    asked = ".".join(word for word, _ in path[:-1])
    raise UnknownName(
        "schema",
        asked,
        allowed[:1],
        advice=f"the tables are in {allowed[0]!r}; write {allowed[0]}.{exact[0]}, or {exact[0]} alone",
    )


def settle_names(nodes: Sequence[Node], tables: Collection[str], views: Collection[str], schema: str | None) -> None:
    """Replace each name with dots before it, of a table or of a column's table, by the declared name that it means."""
    found = [node for node in nodes if node.key in {"table", "column"} and part(node, "db") is not None]
    if not found:
        return
    names = (*tables, *views)
    hidden = {part(part(node, "alias"), "this").name.casefold() for node in nodes if node.key == "cte"}
    known: dict[str, str] = {}  # the tables that FROM names without an alias: by which name the query knows each
    for node in nodes:
        if node.key == "table" and part(node, "alias") is None:
            name = str(part(node, "this").name)
            known.setdefault(name.casefold(), name)
    for node in (one for one in found if one.key == "table"):
        name = find_table(_path(node), names, schema)
        if name in views and name.casefold() in hidden:
            raise RequestError(f"{name!r} is the name of a view and of a CTE; give the CTE another name")
        own = name.rsplit(".", 1)[-1]
        _settle(node, "this", name)
        part(node, "this").args[DECLARED] = name in tables
        if part(node, "alias") is None:
            known[name.casefold()] = own
            if own != name:
                node.set("alias", _alias(part(node, "this"), own))
    for node in (one for one in found if one.key == "column"):
        path = _path(node)
        name = find_table(path[:-1], names, schema)
        if name.casefold() not in known:
            shown = ".".join(word for word, _ in path)
            raise Unsupported(
                f"{shown} is of a table that FROM does not name, or names by an alias; write alias.{path[-1][0]}"
            )
        _settle(node, "table", known[name.casefold()])


def _settle(node: Node, argument: str, name: str) -> None:
    """Give a node a plain name instead of one with dots."""
    node.set(argument, _identifier(part(node, argument), name))
    node.set("db", None)
    node.set("catalog", None)


def _identifier(old: Node, name: str) -> Node:
    return type(old)(this=name, quoted=True).update_positions(old)


def _alias(old: Node, name: str) -> Node:
    from sqlglot.expressions import TableAlias

    return TableAlias(this=_identifier(old, name))


def _path(node: Node) -> list[tuple[str, bool]]:
    parts = [part(node, name) for name in ("catalog", "db", "table", "this") if name != "table" or node.key == "column"]
    return [(str(one.name), bool(one.args.get("quoted"))) for one in parts if one is not None]


def _means(written: tuple[str, bool], name: str) -> bool:
    word, quoted = written
    return word == name if quoted else word.casefold() == name.casefold()
