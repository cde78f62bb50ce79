"""Mutants of the database API and of the server's pages."""

from __future__ import annotations

from mutant import of

DBAPI = "unit/dbapi/test_database_api.py"
PAGES = "unit/server/test_pages.py"
AFTER = "unit/ledger/test_remaining_after.py"

MUTANTS = [
    *of("results.output_columns:has_no_rows", DBAPI, ("return _ends_empty(last.query.steps)", "return False")),
    *of("results.output_columns:_ends_empty", DBAPI, ("if step.keys == ():\n    empty = False", "")),
    *of("results.output_columns:_never", DBAPI, ("evaluate_row(condition, {}, {}) is not True", "True")),
    *of(
        "dbapi.cursors:Cursor.execute",
        DBAPI,
        ("if isinstance(plan, Plan) and has_no_rows(plan):\n    self._rows = []\n    return self", ""),
    ),
    *of("dbapi.connection:Connection.rollback", DBAPI, ("if answered:\n    ...", "if not answered:\n    ...")),
    *of(
        "server.pages.question_builder:_value",
        PAGES,
        ("if not _NUMBER.fullmatch(value.strip()):\n    ...", "if False:\n    ..."),
    ),
    *of("server.shared_questions:find_shared", PAGES, ("call.identity.name", "'ben'")),
    *of("server.shared_questions:read_shared", PAGES, ("dict(asked.body)", "dict(call.body)")),
    *of("server.pages.svg_charts:_bars", PAGES, ("escape(label)", "label")),
    *of(
        "server.pages.page_serving:asset",
        PAGES,
        ("found is None or found.digest != request.path_params['digest']", "found is None"),
    ),
    *of(
        "ledger.bookkeeping:Bookkeeping.remaining_after",
        AFTER,
        ("whole.pay(whole.price(event, blocks), blocks)", "whole"),
    ),
]
