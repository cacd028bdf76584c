"""The jobs' columns: what is asked most often stays on a line of 120 cells, and how far a job is in its walltime."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, a_job, a_server_status, a_vnode, changed, running
from tui.state.cluster_view import ClusterView, see
from tui.tables.cli_table_rows_and_columns import jobs as listed
from tui.tables.column_layout import Widths
from tui.tables.columns import Sort
from tui.tables.columns_by_view.job_columns import job_columns, job_fields_also
from tui.text.screen_line import plain

_MARK = 2


def cluster() -> ClusterView:
    jobs = {
        "7.hpc1": {
            **running("alice", 4, "v1"),
            "stime": str(int(NOON_S - 3600)),
            "Resource_List.walltime": "04:00:00",
            "Resource_List.mem": "8gb",
        },
        "8.hpc1": {**running("bob", 4, "v1"), "stime": str(int(NOON_S - 3600)), "Resource_List.walltime": "00:30:00"},
        "9.hpc1": a_job("carol", 4),
    }
    vnodes = {"v1": {**a_vnode(16, 8), "resources_available.ngpus": "2"}}
    return see(changed(a_server_status(), vnodes=vnodes, jobs=jobs), Settings(), Ledger(), 0.1)


def shown_on(cells: int) -> list[str]:
    seen = cluster()
    placed = Widths[str]().place(job_columns(seen), seen.job_ids, cells - _MARK)
    return [each.column.name for each in placed]


def test_memory_and_the_time_left_are_on_a_line_of_120_cells() -> None:
    assert {"cores", "gpus", "mem", "time", "left", "eff", "name", "why"} <= set(shown_on(120))


def test_what_is_there_on_80_cells_is_there_on_wider_lines() -> None:
    narrow, usual, wide = (set(shown_on(cells)) for cells in (80, 120, 200))
    assert {"id", "user", "state", "cores", "time", "why"} <= narrow <= usual <= wide
    assert {"walltime", "done"} <= wide


def test_how_much_of_its_walltime_a_job_has_had() -> None:
    done = next(column for column in job_columns(cluster()) if column.name == "done")
    assert [done.value(job_id) for job_id in ("7.hpc1", "8.hpc1", "9.hpc1")] == [25, 200, None]
    assert plain(done.show("7.hpc1")).endswith(" 25%")
    assert {role: text for text, role in done.show("8.hpc1")}["bad"] == " 200%"
    assert done.show("9.hpc1") == ()


def test_an_array_is_on_the_vnodes_of_its_running_subjobs() -> None:
    jobs = {
        "16[].hpc1": a_job("dave", 1, "B", array="True"),
        "16[1].hpc1": running("dave", 1, "v1"),
        "16[2].hpc1": running("dave", 1, "v3"),
    }
    seen = see(changed(a_server_status(), jobs=jobs), Settings(), Ledger(), 0.1)
    on = job_fields_also(seen)["vnode"]
    assert [on(job_id) for job_id in jobs] == [("v1", "v3"), ("v1",), ("v3",)]
    assert list(listed(seen).arranged("vnode:=v3", Sort())) == ["16[].hpc1"]


def test_the_exit_status_is_a_number_to_filter_by() -> None:
    seen = cluster()
    statuses = {"1.hpc1": "0", "2.hpc1": "271", "3.hpc1": "-12", "4.hpc1": "", "5.hpc1": "?"}
    ended = {job_id: {**a_job("carol", 4), "job_state": "F", "Exit_status": text} for job_id, text in statuses.items()}
    jobs = {**seen.server_status.jobs, **ended}
    exit_of = job_fields_also(see(changed(seen.server_status, jobs=jobs), Settings(), Ledger(), 0.1))["exit"]
    assert [exit_of(job_id) for job_id in (*statuses, "9.hpc1")] == [0, 271, -12, None, None, None]
