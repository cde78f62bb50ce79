"""`privet serve`: answer analysts over HTTP. Registered as an entry point of the group `privet.commands`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import click

from privet.core.errors import RequestError, raise_alone

from .whole_numbers import WholeRange

PEOPLE = {"alice": "analyst", "carol": "custodian", "otto": "auditor"}

_ANALYST = """
[analysts.alice]
epsilon = 2
delta = 1e-7
"""


def make_demo(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the privet.toml of a made-up hospital in a folder, and a token for each of three accounts."""
    from privet.demo.hospital import make_hospital

    from .identity import TokenStore
    from .listening import ACCOUNTS

    config = make_hospital(folder)
    config.write_text(config.read_text(encoding="utf-8") + _ANALYST, encoding="utf-8")
    accounts = TokenStore(folder / ACCOUNTS)
    try:
        tokens = {f"{name} ({role})": accounts.add(name, role)[0] for name, role in PEOPLE.items()}
    finally:
        accounts.close()
    return config, tokens


def _named(given: tuple[str, ...]) -> dict[str, Path]:
    """Return the files by the names of their data sets: NAME=PATH, or the name of the folder."""
    places: dict[str, Path] = {}
    for text in given or ("privet.toml",):
        name, found_equals, path = text.partition("=")
        place = Path(path if found_equals else text).absolute()
        label = name if found_equals else place.parent.name
        if label in places:
            raise RequestError(f"two data sets are called {label!r}; pass NAME=PATH")
        places[label] = place
    return places


@click.command("serve")
@click.argument("configs", nargs=-1, metavar="[NAME=]PRIVET.TOML...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where analysts reach the server.")
@click.option("--port", type=WholeRange(0, 65535), default=8443, show_default=True, help="The analysts' port.")
@click.option("--custodian-port", type=WholeRange(0, 65535), help="Serve custodian and auditor on this port.")
@click.option("--custodian-host", default="127.0.0.1", show_default=True, help="Where they reach it.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="The certificate chain, as PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="The certificate's key, as PEM.")
@click.option(
    "--behind-proxy", is_flag=True, help="A proxy on this computer ends TLS, and no other computer can connect."
)
@click.option("--accounts", type=click.Path(path_type=Path), help="The accounts file. [default: beside the ledger]")
@click.option("--demo", is_flag=True, help="Serve a made-up hospital, with three accounts.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as JSON.")
def command(
    configs: tuple[str, ...],
    host: str,
    port: int,
    custodian_port: int | None,
    custodian_host: str,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    accounts: Path | None,
    demo: bool,
    as_json: bool,
) -> None:
    """Answer analysts over HTTP, each charged to their own account.

    Tokens come from `privet token add`.

    \b
    Example:
      privet serve --demo
      privet serve hospital/privet.toml --custodian-port 8444
      privet serve wards=a/privet.toml labs=b/privet.toml --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
    """
    try:
        from .listening import PrivetServer, ServerOptions, log_to_stderr
    except ImportError:
        raise_alone(RequestError('the server needs more packages: python -m pip install "privet[server]"'))
    folder = None
    tokens: dict[str, str] = {}
    try:
        if demo:
            folder = Path(tempfile.mkdtemp(prefix="privet-demo-"))
            click.echo("making up a hospital of a million rows ...", err=True)
            config, tokens = make_demo(folder)
            datasets, custodian_port = {"hospital": config}, 8444 if custodian_port is None else custodian_port
        else:
            datasets = _named(configs)
        server = PrivetServer(
            ServerOptions(
                datasets,
                accounts=accounts,
                host=host,
                port=port,
                custodian_host=custodian_host,
                custodian_port=custodian_port,
                certificate=tls_cert,
                key=tls_key,
                behind_proxy=behind_proxy,
            )
        )

        def started() -> None:
            if as_json:
                click.echo(json.dumps({"urls": list(server.urls), "tokens": tokens}))
                return
            for who, url in zip(("analysts", "custodian and auditor"), server.urls, strict=False):
                click.echo(f"{who}: {url}")
            for name, token in tokens.items():
                click.echo(f"token of {name}: {token}")
            if tokens:
                click.echo(
                    f"try: privet.connect({server.urls[0]!r}, token=...) or the API at {server.urls[0]}/v1/openapi.json"
                )

        log_to_stderr()
        server.run(signals=True, started=started)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
