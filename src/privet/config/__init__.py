"""privet.toml: a custodian's declarations, read strictly, and their use.

`read_config` reads the file and nothing else: no data, no ledger. Sessions over it are opened in `sessions`.
"""

from .declared import Analyst, Config, EngineLimits, LedgerPlace, Rules
from .problems import BadConfig, Problem
from .reading import read_config

__all__ = [
    "Analyst",
    "BadConfig",
    "Config",
    "EngineLimits",
    "LedgerPlace",
    "Problem",
    "Rules",
    "read_config",
]
