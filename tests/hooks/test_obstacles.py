"""Nothing is started where somebody else schedules, or where something holds that pbsteer would not honour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hooks.obstacles import find_obstacles, find_orphans, read_sched_files
from policy.settings import Settings
from tests.hooks.pictures import picture, queue

SETTINGS = Settings()
SERVER = {"name": "server", "scheduling": "False"}
DEDICATED = "# month/day/year\n01/01/2020 10:00 01/01/2020 12:00\n"


def find(files: dict[str, dict[str, str]] | None = None, unread: dict[str, str] | None = None, **parts: Any) -> str:
    parts.setdefault("queues", {"workq": queue("drive"), "idle": queue("observe")})
    return find_obstacles(picture(**parts), SETTINGS, unread or {}, files or {}).get("workq", "")


def test_a_queue_that_nobody_else_schedules_is_driven() -> None:
    assert (
        find({"default": {"sched_config": "fair_share: false ALL\n#fair_share: true", "dedicated_time": DEDICATED}})
        == ""
    )


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"scheds": {"default": {"scheduling": "True", "partition": "pbs-default"}}}, "set sched default scheduling"),
        ({"server": {"name": "s", "scheduling": "True"}, "scheds": {}}, "starts jobs too"),
        ({"server": {**SERVER, "node_group_enable": "True", "node_group_key": "switch"}}, "placement sets .* switch"),
        ({"server": {**SERVER, "job_sort_formula": "ncpus*2"}}, r"job_sort_formula is set \(ncpus\*2\)"),
        ({"files": {"default": {"sched_config": "fair_share: True\tALL\n"}}}, "fair_share is true"),
        ({"files": {"default": {"dedicated_time": "01/01/2090 10:00 01/01/2090 12:00"}}}, "dedicated time"),
        ({"files": {"default": {"dedicated_time": "tomorrow"}}}, "dedicated time .tomorrow"),
        ({"unread": {"workq": "queue workq: max_run: ..."}}, "max_run"),
        ({"unread": {"": "server: max_run: ..."}}, "server: max_run"),
        ({"queues": {"workq": queue("drive", partition="P9")}}, "no scheduler serves partition P9"),
    ],
)
def test_what_stands_in_the_way_is_named(parts: dict[str, Any], words: str) -> None:
    import re

    assert re.search(words, find(**parts))


def test_a_partition_is_its_own_schedulers_business() -> None:
    scheds = {
        "default": {"scheduling": "True", "partition": "pbs-default"},
        "second": {"scheduling": "False", "partition": "P1,P2"},
    }
    queues = {"workq": queue("drive", partition="P2"), "other": queue("drive")}
    found = find_obstacles(picture(queues=queues, scheds=scheds), SETTINGS, {}, {})
    assert list(found) == ["other"]


def test_a_queue_that_nobody_schedules_is_noticed() -> None:
    (sentence,) = find_orphans(picture(queues={"workq": queue("drive"), "idle": queue("observe")}), SETTINGS)
    assert "queue idle is in observe" in sentence


def test_the_schedulers_files_are_read_where_the_server_says_they_are(tmp_path: Path) -> None:
    (tmp_path / "sched_config").write_bytes(b"fair_share: true ALL\n# \xff\n")
    scheds = {"default": {"sched_priv": str(tmp_path)}, "away": {"sched_priv": "/no/such/folder"}, "bare": {}}
    files = read_sched_files(picture(scheds=scheds))
    assert list(files["default"]) == ["sched_config"]
    assert files["away"] == files["bare"] == {}
