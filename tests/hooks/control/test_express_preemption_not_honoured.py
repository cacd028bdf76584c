"""An express queue of PBS's scheduler is driven, and the administrator is told that its jobs preempt no job there."""

from __future__ import annotations

import pytest

from hooks.control.express_preemption_not_honoured import find_express_queues
from hooks.translate.queues import read_modes
from policy.settings.site_settings import Settings
from tests.hooks.run_bundled_hook import Hook
from tests.hooks.sample_server_statuses import queue, server_status

PREEMPTS = "preemptive_sched: true\tALL\n"


def find(mode: str = "drive", config: str = PREEMPTS, priority: str = "150", **sched: str) -> dict[str, str]:
    seen = server_status(
        queues={"workq": queue(mode), "fast": queue(mode, Priority=priority)},
        scheds={"default": {"scheduling": "False", "partition": "pbs-default", **sched}},
    )
    return find_express_queues(seen, read_modes(seen, Settings()), {"default": {"sched_config": config}})


def test_a_queue_whose_priority_reaches_the_schedulers_is_told_with_what_ends_the_remark() -> None:
    found = find()
    assert found.keys() == {"fast"}
    for words in ("Priority 150 reaches preempt_queue_prio (150) of scheduler default", "preempt no job", "false"):
        assert words in found["fast"]
    assert find(preempt_queue_prio="200", priority="200").keys() == {"fast"}


@pytest.mark.parametrize(
    "parts",
    [
        {"mode": "advise"},
        {"mode": "observe"},
        {"config": "preemptive_sched: false ALL\n"},
        {"config": ""},
        {"priority": "149"},
        {"priority": ""},
        {"preempt_queue_prio": "151"},
        {"preempt_prio": "starving_jobs, normal_jobs"},
    ],
)
def test_others_are_not(parts: dict[str, str]) -> None:
    assert find(**parts) == {}


def test_the_pass_tells_it_and_drives_the_queue(hook: Hook) -> None:
    folder = hook.home / "sched_priv"
    folder.mkdir()
    (folder / "sched_config").write_text(PREEMPTS)
    sched = {"scheduling": "False", "partition": "pbs-default", "sched_priv": str(folder), "state": "idle"}
    cluster = server_status({}, queues={"workq": queue("drive", Priority="160")}, scheds={"default": sched}).to_data()
    hook.run("periodic", cluster=cluster)
    (entry,) = hook.state.read_journal(9)
    assert entry["acted"] == ["workq"]
    assert any(note.startswith("queue workq: its Priority 160 reaches") for note in entry["notes"])
