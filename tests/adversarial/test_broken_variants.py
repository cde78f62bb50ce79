"""Every mechanism that is known to be broken is caught, with a lower bound that exceeds what it claims."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from privet.audit.attacks import BROKEN, Broken
from privet.cli import main


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_mechanism_is_caught(broken: Broken) -> None:
    report = broken.run()
    assert report.refuted, str(report)
    assert report.found > report.epsilon * 1.04


def test_the_value_that_is_shown_costs_more_than_the_crossing_alone_could() -> None:
    report = BROKEN[0].run()
    assert "shows the noisy value" in BROKEN[0].name
    assert report.found > 1.5  # what one crossing with these scales costs, where the value stays hidden


def test_the_command_shows_what_was_found() -> None:
    result = CliRunner().invoke(main, ["audit", "--broken", "without noise", "histogram"])
    assert result.exit_code == 0
    assert result.output.count("caught") == 2
    told = json.loads(CliRunner().invoke(main, ["audit", "--broken", "once", "--json"]).output)
    assert [one["caught"] for one in told] == [True]
    assert told[0]["found"] > 2
