"""`privet ledger init` and `adopt`: acts of the owner of a ledger in PostgreSQL, with rights that its users lack."""

from __future__ import annotations

import click

from privet.display import printable

from .screen import json_option, print_json, print_text, working


@click.command("init")
@click.argument("address")
@click.option("--role", default="privet_app", show_default=True, help="The role that will use the ledger.")
@click.option("--run", is_flag=True, help="Run the SQL, as the role that ADDRESS names; otherwise it is printed.")
@json_option
def set_up(address: str, role: str, run: bool, as_json: bool) -> None:
    """Print the SQL that makes the tables of a ledger in PostgreSQL, or run it as their owner.

    ADDRESS is the server, the owner's role and the database, and after # the ledger's schema. The role that uses the
    ledger must be another one: it can read entries and add some, and can neither change nor remove one. It is made,
    without a password, where there is none.

    \b
    Example:
      privet ledger init postgresql://owner@db.example.org/hospital --role privet_app > ledger.sql
      privet ledger init postgresql://owner@db.example.org/hospital --role privet_app --run
    """
    from privet.ledger.postgres import PostgresLedger
    from privet.ledger.postgres.server_address import shown_place

    if not run:
        sql = PostgresLedger.set_up_sql(address, role=role)
        if as_json:
            print_json({"sql": sql, "role": role})
        else:
            click.echo(sql)
        return
    PostgresLedger.set_up(address, role=role)
    if as_json:
        print_json({"ledger": shown_place(address), "role": role})
        return
    print_text(f"The tables are there, and {printable(role)} may use them.")
    print_text("Set a password for that role, or have the server know it by other means.")
    print_text("Then open the ledger as that role, with a budget.")


@click.command("adopt")
@click.argument("address")
@click.option("--head", required=True, help="The last head that was kept anywhere: it must be in the ledger.")
@json_option
def adopt(address: str, head: str, as_json: bool) -> None:
    """Go on with a PostgreSQL server that was promoted or restored, after verifying its ledger, as the owner.

    Such a server may lack the last entries, and is refused until then. Pass the latest head that is known.

    \b
    Example:
      privet ledger adopt postgresql://owner@standby.example.org/hospital --head 12:9f3c...
    """
    from privet.ledger.postgres import PostgresLedger

    with working("reading every entry"):
        last = PostgresLedger.adopt(address, head=head)
    if as_json:
        print_json({"head": last, "pinned": head})
        return
    print_text(f"The ledger is intact, contains entry {head.partition(':')[0]}, and goes on with this server. Head:")
    print_text(last)
