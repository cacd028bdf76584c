"""The schedulers' own files, wherever they are and whatever is in them."""

from __future__ import annotations

from pathlib import Path

from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import is_on, read_sched_config, read_sched_files
from tests.hooks.sample_server_statuses import server_status

CONFIG = """\
# round_robin: true all
by_queue: True\t\tprime
by_queue: false\tnon_prime
job_sort_key: "job_priority HIGH"\tALL
job_sort_key: "ncpus LOW" all
strict_ordering:\tFALSE ALL
"""


def test_the_schedulers_files_are_read_where_the_server_says_they_are(tmp_path: Path) -> None:
    (tmp_path / "sched_config").write_bytes(b"fair_share: true ALL\n# \xff\n")
    scheds = {"default": {"sched_priv": str(tmp_path)}, "away": {"sched_priv": "/no/such/folder"}, "bare": {}}
    files = read_sched_files(server_status(scheds=scheds))
    assert list(files["default"]) == ["sched_config"]
    assert files["away"] == files["bare"] == {}


def test_options_are_read_for_every_time_of_the_day() -> None:
    config = read_sched_config(CONFIG)
    assert config["job_sort_key"] == ["job_priority HIGH", "ncpus LOW"]
    assert [is_on(config, option) for option in ("by_queue", "strict_ordering", "round_robin")] == [True, False, False]
