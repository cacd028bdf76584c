"""The overview on a short screen: what needs attention is divided, and no label is there twice."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, a_server_status, a_vnode, changed, with_job
from tui.backends.idle_core_history import IdleHistory
from tui.pages.cluster.status_command_lines import cluster_lines
from tui.state.cluster_view import see
from tui.text.screen_line import plain


def shown(height: int) -> list[str]:
    """The overview at 80 columns of a cluster with more to look at than fits a short screen."""
    server_status = a_server_status()
    down = {f"w{n}": a_vnode(8, 0, "down", last_state_change_time=str(int(NOON_S - n * 600))) for n in range(12)}
    stopped = {f"q{n}": {**server_status.queues["gpu"], "started": "False"} for n in range(6)}
    server_status = changed(
        server_status, vnodes={**server_status.vnodes, **down}, queues={**server_status.queues, **stopped}
    )
    cluster = see(server_status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)
    return [plain(line) for line in cluster_lines(cluster, IdleHistory(), 80, (), height)]


def labels(lines: list[str]) -> list[str]:
    below = lines[lines.index("", lines.index("") + 1) + 1 :]
    return [label for label in (line[:11].strip() for line in below) if label]


def test_what_does_not_fit_above_the_plan_is_at_the_end_under_its_number() -> None:
    lines = shown(24)
    (more,) = (line for line in lines if line.endswith("more, at the end"))
    assert labels(lines) == ["attention", "next pass", "in use by", "changed", f"{more.split()[1]} more"]
    assert len(lines) - next(n for n, line in enumerate(lines) if line.startswith(f"{more.split()[1]} more")) == int(
        more.split()[1]
    )


def test_on_a_high_screen_attention_is_one_list() -> None:
    assert labels(shown(60)) == ["attention", "next pass", "in use by", "changed"]


def test_suspended_jobs_are_named_beside_the_running_ones_that_they_are_among() -> None:
    server_status = a_server_status()
    suspended = {**server_status.jobs["12.hpc1"], "job_state": "S"}
    for status, words in (
        (server_status, "jobs    R 2  Q "),
        (with_job(server_status, "12.hpc1", suspended), "jobs    R 2 (1 suspended)  Q "),
    ):
        cluster = see(status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)
        assert any(plain(line).startswith(words) for line in cluster_lines(cluster, IdleHistory(), 80))


def test_on_a_narrow_screen_no_line_is_longer() -> None:
    """But for those of the table, which has its least widths."""
    server_status = a_server_status()
    down = {f"w{n}": a_vnode(8, 0, "down,offline", comment="the fan is replaced tomorrow") for n in range(3)}
    cluster = see(changed(server_status, vnodes={**server_status.vnodes, **down}), Settings(), Ledger(), 0.1)
    for cells in (40, 60):
        lines = [plain(line).rstrip() for line in cluster_lines(cluster.decided(lambda: 0.0), IdleHistory(), cells)]
        table = next(n for n, line in enumerate(lines) if line.startswith("queue "))
        assert max(map(len, [*lines[:table], *lines[lines.index("", table) :]])) <= cells
        assert "2 of 2 running jobs preemptible" in " ".join(" ".join(lines).split())
