"""Bundled files fail open, a new version meets nothing of the one before, and none needs what another run has left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.deploy.bundle_hook import EVENTS, ON_DEMAND, build, source_digest
from tests.hooks.run_bundled_hook import Hook, find_pythons, submit
from tests.hooks.sample_server_statuses import server_status


@pytest.mark.parametrize("event", ["queuejob", "runjob", "periodic"])
def test_an_error_of_ours_lets_pbs_go_on_and_leaves_its_traceback(hook: Hook, event: str) -> None:
    raising = build(event).replace(
        "def handle(pbs: Any) -> str | None:", "def handle(pbs: Any) -> str | None:\n    1 / 0", 1
    )
    answer = hook.run(event, text=raising, events=[{}, {}])
    assert (answer["verdicts"], [each["ended"] for each in answer["events"]]) == ([None, None], ["0", "0"])
    for message in answer["logged"]:
        assert f"the {event} hook failed and lets PBS go on" in message
        assert f"<pbsteer {source_digest()}: hooks/entries/{event}.py>" in message
        assert "1 / 0" in message
        assert "ZeroDivisionError" in message
        assert ("go on (a request of alice@login" in message) == (event != "periodic")


@pytest.mark.parametrize("event", ["queuejob", "runjob", "periodic"])
def test_a_bundle_that_cannot_even_be_loaded_lets_pbs_go_on_and_is_tried_again(hook: Hook, event: str) -> None:
    broken = build(event).replace("def handle(pbs: Any)", "raise ValueError('broken')\ndef handle(pbs: Any)", 1)
    answer = hook.run(event, text=broken, events=[{}, {}])
    assert answer["verdicts"] == [None, None]
    assert len([message for message in answer["logged"] if "ValueError: broken" in message]) == 2


def test_settings_that_cannot_be_used_let_pbs_go_on(hook: Hook) -> None:
    answer = hook.run("periodic", settings={"nonsense": 1}, cluster=server_status().to_data())
    assert answer["verdicts"] == [None]
    assert "unknown key 'nonsense'" in answer["logged"][0]


def test_a_verdict_is_not_swallowed_inside_an_entry(hook: Hook) -> None:
    ending = build("runjob").replace(
        "def handle(pbs: Any) -> str | None:", "def handle(pbs: Any) -> str | None:\n    pbs.event().reject('mine')", 1
    )
    answer = hook.run("runjob", text=ending)
    assert (answer["verdicts"], answer["logged"]) == (["mine"], [])


def test_an_update_meets_nothing_of_the_version_before(hook: Hook) -> None:
    old = build("queuejob").replace(source_digest(), "0" * 12).partition("import pbs\n\n_refusal")[0]
    first = f"import pbs\nexec(compile({old + '_handle(pbs)'!r}, 'old', 'exec'), {{**globals(), 'pbs': pbs}})\n"
    answer = hook.run("queuejob", text=first + build("queuejob"))
    assert answer["verdicts"] == [None]
    assert {name.split(".")[0] for name in answer["modules"]} == {f"pbsteer_{source_digest()}"}


@pytest.mark.parametrize("event", [*EVENTS, *ON_DEMAND])
@pytest.mark.parametrize("python", find_pythons())
def test_a_hook_does_the_same_in_a_process_of_its_own(tmp_path: Path, python: str, event: str) -> None:
    homes = [tmp_path / name for name in ("anew", "fork", "again")]
    for home in homes:
        home.mkdir()
    scenario: dict[str, Any] = {"events": [submit(select="1:ncpus=1")] * 2, "cluster": server_status().to_data()}
    anew, *forks = (Hook(python, home).run(event, starts_anew=home.name == "anew", **scenario) for home in homes)
    assert anew["modules"]
    assert forks == [anew, anew]
