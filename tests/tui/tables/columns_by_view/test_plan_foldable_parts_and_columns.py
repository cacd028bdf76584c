"""The plan as a table: its parts, which fold, and the jobs in each with words that are true of that job."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted_server import a_job, a_server_status, changed, with_job
from tui.state.cluster_view import ClusterView, see
from tui.tables.column_layout import Widths, row
from tui.tables.columns_by_view.plan_foldable_parts_and_columns import PlanKey, parts_of, plan_columns, plan_keys
from tui.text.screen_line import plain


def seen(**jobs: dict[str, str]) -> ClusterView:
    """The scripted cluster with its running jobs and these."""
    server_status = a_server_status()
    server_status = changed(server_status, jobs={k: v for k, v in server_status.jobs.items() if k[:2] in ("11", "12")})
    for name, job in jobs.items():
        server_status = with_job(server_status, f"{name[1:]}.hpc1", job)
    return see(server_status, Settings(), Ledger(), 0.1).decided(lambda: 0.0)


def texts(cluster: ClusterView, turned: set[PlanKey]) -> list[str]:
    parts = parts_of(cluster)
    rows = plan_keys(parts, turned)
    placed = Widths[PlanKey]().place(plan_columns(cluster, parts, rows), rows, 120)
    return [plain(row(placed, key)) for key in rows]


def test_what_waits_is_counted_by_reason_and_folded_until_it_is_asked_for() -> None:
    cluster = seen(j20=a_job("zoe", 8), j21=a_job("zoe", 5), j22=a_job("zoe", 6))
    folded = texts(cluster, set())
    (line,) = [line for line in folded if "too few cores" in line]
    assert line.startswith("▸ leaves waiting") and " 2 " in line and " 11 " in line, "jobs, and what they need together"
    assert not any(" 21 " in line for line in folded)
    (part,) = [key for key in parts_of(cluster) if key.code == "too-few-idle"]
    unfolded = texts(cluster, {part})
    (first,) = [line for line in unfolded if " 21 " in line]
    (second,) = [line for line in unfolded if " 22 " in line]
    assert "1 short" in first and "2 short" in second, "each job has its own numbers"


def test_starts_and_reservations_are_unfolded_at_first_and_can_be_folded() -> None:
    cluster = seen(j20=a_job("zoe", 8), j23=a_job("carol", 1))
    lines = texts(cluster, set())
    at = next(number for number, line in enumerate(lines) if line.startswith("▾ starts"))
    assert lines[at + 1].split()[0] == "23" and "on v2" in lines[at + 1]
    (starts,) = [key for key in parts_of(cluster) if key.verb == "starts"]
    assert next(line for line in texts(cluster, {starts}) if "starts" in line).startswith("▸ starts")


def test_starts_of_driven_and_of_observed_queues_are_parts_of_their_own() -> None:
    cluster = seen(j23=a_job("carol", 1), j24=a_job("carol", 1, queue="gpu"))
    verbs = [key.verb for key, ids in parts_of(cluster).items() if ids]
    assert "starts" in verbs and "would start" in verbs


def test_without_a_plan_there_are_no_parts() -> None:
    assert parts_of(see(a_server_status(), Settings(), Ledger(), 0.1)) == {}
