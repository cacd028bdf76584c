"""The short form of the fault-injection suite: some of every kind, on a real server (docs/faults.md).

Where no testbed can run (not root, no installed PBS) it is skipped, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_pbs_exec, find_shortcomings
from container.testbed_spec import TestbedSpec
from tests.clean_environment_for_tests import for_testbeds
from tests.faults.campaign_on_testbed import draw_schedule, run_campaign, show_table
from tests.faults.testbed_under_faults import Ground
from tests.pbs.cluster import PbsCluster

FAULTS = 52
LEAST = 25
SEED = "short"
MINUTES = 6.0


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A testbed of its own: it is not left as it was found."""
    shortcomings = find_shortcomings(None, for_testbeds(os.environ))
    if shortcomings is not None:
        pytest.skip(shortcomings)
    name = f"pbst-{os.getpid()}-faults"
    try:
        pbs_exec = find_pbs_exec(None, for_testbeds(os.environ))
        built, _ = testbeds.up(TestbedSpec(name=name, pbs_exec=pbs_exec))
        made = Ground(PbsCluster(built), SEED)
        made.prepare()
        yield made
    finally:
        testbeds.down(name)


@pytest.mark.slow
def test_nothing_is_lost_in_some_faults_of_every_kind(ground: Ground) -> None:
    messages: list[str] = []
    schedule = draw_schedule(FAULTS, SEED)
    outcome = run_campaign(ground, schedule, SEED, minutes=MINUTES, say=messages.append, least=LEAST)
    report = "\n".join([*messages, show_table(outcome)])
    assert outcome.tell_losses() == [], report
    assert outcome.tried >= max(LEAST, 0.7 * len(outcome.trials)), report
    print(show_table(outcome))  # noqa: T201 - what was survived, for whoever looks
