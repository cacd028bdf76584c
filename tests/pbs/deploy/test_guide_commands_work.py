"""Every command of docs/guide.md, run in the page's order on a real server with the names of a testbed in it.

What is printed there in a box of ``sh`` is what somebody types as root on the server's host; jobs are a user's.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hooks.deploy_on_testbed import last_pass
from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
FIRST_APPLY = "pbsteer hooks apply --settings /etc/pbsteer/policy.toml"
ATTENTION = ("pbsteer hooks status",)
"""Commands that end with 1 where something needs attention, as a MoM that has no copy yet does."""

IN_THE_WAY = "PBS changes the partition only of vnodes without jobs and reservations; these have some:"


def commands() -> list[str]:
    boxes = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [line for box in boxes for line in box.splitlines() if line.strip()]


def settings() -> str:
    """The settings that the page begins with, which are to be good ones."""
    found = re.search(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def _settings_in_etc(pbs: PbsCluster) -> Iterator[None]:
    """The page's settings where it has them, until the test ends: other tests' hooks have other ones."""
    etc = pbs.testbed.folder / pbs.spec.server.name / "etc" / "pbsteer"
    etc.mkdir()
    quick = "[schedule]\ninterval_s = 2\nbudget_s = 1.5\n"
    (etc / "policy.toml").write_text(settings() + quick, encoding="utf-8")
    yield
    shutil.rmtree(etc)


@pytest.mark.usefixtures("_settings_in_etc")
def test_each_command_of_the_guide_does_what_it_is_there_for(pbs: PbsCluster) -> None:
    first, second, _ = pbs.mom_names
    waiting = pbs.qsub("alice", select="1:ncpus=500")
    names = {"n017": first, "n018": second, "1234": waiting}
    told: dict[str, str] = {}
    running = ""
    for line in commands():
        words = re.sub("|".join(names), lambda found: names[found[0]], line)
        user = "alice" if line.startswith("qsub ") else None
        done = pbs.run(["sh", "-c", f'pbsteer() {{ "{sys.executable}" -m tui.cli.main "$@"; }}\n{words}'], user=user)
        assert done.status == 0 or (line in ATTENTION and done.status == 1), f"{line}\n{done.stdout}{done.stderr}"
        told[line] = done.stdout
        if line == FIRST_APPLY:
            seen_s = last_pass(pbs).get("time_s", 0.0)
            pbs.wait_until(lambda: last_pass(pbs).get("time_s", 0.0) > seen_s, 120.0, "a pass")  # noqa: B023
        if line.startswith("qsub "):
            running = names["4711"] = done.stdout.strip()
            pbs.wait_for_state(running, "R")
        if line.startswith("qrerun "):
            pbs.wait_until(lambda: not pbs.pbsnodes()[first].get("jobs"), 120.0, "the drained vnode is empty")
    assert "[u:alice=8]" in told["pbsteer quota set workq alice 8 --yes"]
    assert "last pass: " in told["pbsteer hooks status"]
    assert "another request" in " ".join(told["pbsteer explain 1234"].split())
    assert "drained at once" in told["pbsteer do drain n017 --preview"]
    plan = " ".join(told["pbsteer hooks remove --plan"].replace("#", " ").split())
    assert f"remove would stop here, before it changes anything: {IN_THE_WAY} {first} ({running})" in plan
    assert "nothing of pbsteer is left" in told["pbsteer hooks remove"]
    assert not any("pbsteer" in text for text in (pbs.qmgr("list hook"), pbs.qmgr("print server")))
