"""Finds the object that a user names: `module:name`, or `file.py:name`, and reads inputs that are written as JSON."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from privet.core.errors import RequestError, UnknownName
from privet.core.given import read_place

from .screen import json_option

if TYPE_CHECKING:
    from privet.core.ports import LedgerAdmin


# Where a command finds its data: the ledger by its path, or everything by a privet.toml.


config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    default="privet.toml",
    show_default=True,
    envvar="PRIVET_CONFIG",
    help="What the custodian declared.",
)
analyst_option = click.option("--analyst", envvar="PRIVET_ANALYST", help="Who asks, where the file names analysts.")
ledger_option = click.option(
    "--ledger",
    "ledger_path",
    type=read_place,
    metavar="PLACE",
    help="The ledger, instead of the one declared: its path, or postgresql://...",
)


def ledger_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a function a command on a ledger, with the options that all of them have."""

    def made(function: Callable[..., Any]) -> click.Command:
        return click.command(name)(config_option(ledger_option(json_option(function))))

    return made


def existing_ledger(config: Path, ledger_path: Path | str | None) -> LedgerAdmin:
    """Return a ledger that exists, checked against the head that is pinned, if one is; none is made."""
    from privet.config import read_config
    from privet.config import sessions as ledgers

    return ledgers.ledger_at(ledger_path) if ledger_path is not None else ledgers.existing_ledger(read_config(config))


def declared_ledger(config: Path, ledger_path: Path | str | None) -> LedgerAdmin:
    """Return the ledger that a privet.toml declares, made if there is none; or one that exists, by its path."""
    from privet.config import read_config
    from privet.config import sessions as ledgers

    return ledgers.ledger_at(ledger_path) if ledger_path is not None else ledgers.open_ledger(read_config(config))


_EXAMPLE = "my_module:my_mechanism, or path/to/file.py:my_mechanism"


def is_target(name: str) -> bool:
    """Return whether a name points at the user's own code."""
    return ":" in name


def load_target(target: str) -> Any:
    """Return the object that `module:name` or `file.py:name` points at; attributes of it follow after dots."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise RequestError(f"{target!r} does not name what to audit; write {_EXAMPLE}")
    value: Any = _module(place)
    for part in name.split("."):
        if not hasattr(value, part):
            known = [each for each in vars(value) if not each.startswith("_")] if hasattr(value, "__dict__") else []
            raise UnknownName(f"name in {place}", part, known)
        value = getattr(value, part)
    return value


def _module(place: str) -> ModuleType:
    file = Path(place)
    try:
        if file.suffix == ".py":
            return _from_file(file)
        sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(place)
    except RequestError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
            raise RequestError(
                f"there is no module {place!r}, here or among the installed ones; write {_EXAMPLE}"
            ) from None
        raise RequestError(f"{place} needs the module {error.name!r}, which is not installed here") from None
    except (Exception, SystemExit) as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        line = f" on line {where.tb_lineno} of {where.tb_frame.f_code.co_filename}" if where is not None else ""
        raise RequestError(f"{place} could not be imported: {type(error).__name__}{line} ({error})") from None


def _from_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise RequestError(f"there is no file {str(file)!r}; write {_EXAMPLE}")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise RequestError(f"{str(file)!r} cannot be read as Python; write {_EXAMPLE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    sys.path.insert(0, str(file.resolve().parent))
    spec.loader.exec_module(module)
    return module


def takes_a_count(function: Any) -> bool:
    """Return whether a function takes two arguments: an input, and the number of releases of it to return."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    places = [param for param in parameters if param.kind in (param.POSITIONAL_ONLY, param.POSITIONAL_OR_KEYWORD)]
    return sum(place.default is place.empty for place in places) == 2


def read_input(text: str) -> Any:
    """Return an input that is written as JSON, or as @ and the name of a JSON file."""
    written = text
    if text.startswith("@"):
        try:
            written = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise RequestError(f"the file {text[1:]!r} cannot be read; after @ comes the name of a JSON file") from None
    try:
        return json.loads(written)
    except ValueError:
        hint = "" if text.startswith("@") else f"; a text is written '{json.dumps(text)}'"
        raise RequestError(
            f'the input {text!r} is not JSON: write 10, [1, 2], {{"age": [31, 45]}} or @file.json{hint}'
        ) from None
