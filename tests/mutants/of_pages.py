"""Mutants of the database API and of the server's pages."""

from __future__ import annotations

from mutant import of

DBAPI = "unit/dbapi/test_database_api.py"
PAGES = "unit/server/test_pages.py"
ATTACKS = "adversarial/test_page_attacks.py"
AFTER = "unit/ledger/test_remaining_after.py"

MUTANTS = [
    *of("results.output_columns:has_no_rows", DBAPI, ("return _ends_empty(last.query.steps)", "return False")),
    *of("results.output_columns:_ends_empty", DBAPI, ("if step.keys == ():\n    empty = False", "")),
    *of("results.output_columns:_never", DBAPI, ("evaluate_row(condition, {}, {}) is not True", "True")),
    *of(
        "dbapi.connection:Cursor.execute",
        DBAPI,
        ("if isinstance(plan, Plan) and has_no_rows(plan):\n    self._rows = []\n    return self", ""),
    ),
    *of("dbapi.connection:Connection.rollback", DBAPI, ("if answered:\n    ...", "if not answered:\n    ...")),
    *of(
        "server.pages.question_builder:_value",
        PAGES,
        ("if not _NUMBER.fullmatch(value.strip()):\n    ...", "if False:\n    ..."),
    ),
    *of("server.saved_questions:find_shared", PAGES, ("call.identity.name", "'ben'")),
    *of("server.saved_questions:read_shared", PAGES, ("dict(asked.body)", "dict(call.body)")),
    *of("server.pages.svg_charts:_bars", PAGES, ("escape(label)", "label")),
    *of(
        "server.pages.page_serving:asset",
        PAGES,
        ("file is None or file.digest != request.path_params['digest']", "file is None"),
    ),
    *of("server.pages.svg_charts:draw_lines", PAGES, ("sorted(points, key=lambda point: point.place or 0)", "[]")),
    *of("server.pages.analyst_pages:_touched", PAGES, ("session._executor.touched(_steps(plan))", "None")),
    *of(
        "server.saved_questions:save_question",
        PAGES,
        ("call.state.accounts.asked(str(answer), call.identity.name)", "call.state.accounts.asked(str(answer), 'ana')"),
    ),
    *of("server.saved_questions:list_saved", PAGES, ("call.identity.name", "'ana'")),
    *of("server.saved_questions:forget_saved", PAGES, ("call.identity.name", "'ana'")),
    *of(
        "server.pages.custodian_pages:_declared",
        PAGES,
        ("if not _NUMBER.fullmatch(low) or not _NUMBER.fullmatch(high):\n    ...", "if False:\n    ..."),
    ),
    *of("server.pages.page_serving:wants_page", PAGES, ("request.url.path.startswith('/v1/')", "False")),
    *of("server.identity:CookieSigner.check_own_page", ATTACKS, ("origin != own", "False")),
    *of("server.operations:_cell", ATTACKS, ("value.startswith(_FORMULA)", "False")),
    *of(
        "ledger.bookkeeping:Bookkeeping.remaining_after",
        AFTER,
        ("whole.pay(whole.price(event, blocks), blocks)", "whole"),
    ),
]
