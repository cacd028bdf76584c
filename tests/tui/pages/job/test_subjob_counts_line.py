"""An array of which some subjobs run and others wait: both are said, on the page, in lines and as data."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted_server import a_server_status, running, with_job
from tui.pages.job.job_page import job_lines
from tui.pages.job.subjob_counts_line import subjobs_data, subjobs_lines
from tui.state.cluster_view import ClusterView, see
from tui.tables.columns_by_view.planned_job_outcome import describe_job
from tui.text.screen_line import plain

ARRAY = "16[].hpc1"


def cluster_with(*vnodes: str, waiting: str = "0-9") -> ClusterView:
    """A subjob of the array runs on each of the vnodes."""
    server_status = a_server_status()
    for number, vnode in enumerate(vnodes, start=20):
        server_status = with_job(server_status, f"16[{number}].hpc1", running("dave", 1, vnode))
    array = {**server_status.jobs[ARRAY], "job_state": "B" if vnodes else "Q", "array_indices_remaining": waiting}
    return see(with_job(server_status, ARRAY, array), Settings(), Ledger(), 0.1).decided(lambda: 0.0)


def page(cluster: ClusterView) -> str:
    return " ".join(" ".join(plain(line) for line in job_lines(cluster, ARRAY, 200)).split())


def test_how_many_run_where_and_what_the_rest_waits_for() -> None:
    told = page(cluster_with("v1", "v1", "v2"))
    assert "state B: array, running" in told
    assert "subjobs 3 subjobs run on v[1-2]; 10 wait" in told
    assert "waits for first in line: needs 1 core" in told


def test_below_the_table_both_are_said_in_words() -> None:
    (line,) = [plain(describe_job(cluster_with("v1", "v2"), ARRAY))]
    assert line.startswith("B array, running: 2 subjobs run, 10 wait · ")


def test_an_array_that_has_not_begun_says_so() -> None:
    (line,) = subjobs_lines(cluster_with(), ARRAY, 80)
    assert plain(line).split(maxsplit=1)[1] == "none runs, 10 wait"


def test_an_array_whose_subjobs_all_run_waits_for_nothing() -> None:
    told = page(cluster_with("v1", waiting="-"))
    assert "subjobs 1 subjob runs on v1; none waits" in told
    assert "waits for" not in told
    assert "unknown" not in told


def test_data_have_the_full_names() -> None:
    assert subjobs_data(cluster_with("v1", "v2"), ARRAY) == {
        "subjobs": {"running": 2, "waiting": 10, "vnodes": ["v1", "v2"]}
    }
    assert subjobs_data(cluster_with(), "13.hpc1") == {}
