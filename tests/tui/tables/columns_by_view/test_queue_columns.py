"""The queues' lines: who is first, and what is free where that job may run."""

from __future__ import annotations

import itertools

from policy import Ledger, Settings
from tests.hooks.sample_server_statuses import job, queue, running, server_status, vnode
from tui.state.cluster_view import see
from tui.tables.columns_by_view.queue_columns import head_line


def test_a_head_is_told_what_is_idle_where_the_head_may_run() -> None:
    """The idle cores of vnodes that belong to another queue are none of this head's."""
    seen = server_status(
        {"1.s": running(8, "v1"), "2.s": job(cores=4)},
        vnodes={"v1": vnode(8, 8), "v2": vnode(8, 0, queue="other")},
        queues={"workq": queue(), "other": queue()},
    )
    cluster = see(seen, Settings(), Ledger(), 0.1).decided(itertools.count().__next__)
    assert "".join(text for text, _ in head_line(cluster, "workq")) == "2 alice 4c: 0 idle"
