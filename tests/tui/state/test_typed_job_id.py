"""Which job a typed id means where a server has jobs of other servers, and what has to be typed for it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, a_job, a_server_status, changed
from tui.backends.interface.commands_interface import ChangeError
from tui.config.production_servers_and_server_list import Site
from tui.operations.by_target import job_ops
from tui.operations.confirmation.confirmation_lines import operation_lines
from tui.operations.confirmation.typed_confirmation import asked_for
from tui.operations.operation_registry import full_names
from tui.state.cluster_view import ClusterView, see
from tui.state.typed_job_id import AmbiguousJobError, find_job, id_to_type
from tui.text.screen_line import plain


@pytest.mark.parametrize("jobs", [("12.a", "12.b"), ("12.b", "12.a")])
@pytest.mark.parametrize("server", ["a", "a.site.org", "A"])
def test_a_number_means_this_servers_job_in_any_order(jobs: Sequence[str], server: str) -> None:
    assert find_job(jobs, "12", server) == "12.a"
    assert find_job(jobs, "12.b", server) == "12.b"


def test_a_number_of_other_servers_jobs_alone_has_to_be_typed_whole() -> None:
    jobs = ["12.b", "12.c", "13.b"]
    with pytest.raises(AmbiguousJobError, match=r"job '12' may be 12\.b or 12\.c: type the whole id"):
        find_job(jobs, "12", "a")
    assert (find_job(jobs, "13", "a"), find_job(jobs, "14", "a")) == ("13.b", None)


@pytest.mark.parametrize(("job", "shown"), [("12.a", "12"), ("12", "12"), ("12.a.org", "12"), ("3[].b", "3[].b")])
def test_another_servers_job_is_typed_whole(job: str, shown: str) -> None:
    assert id_to_type(job, "a") == shown


def peers(*jobs: str) -> ClusterView:
    return see(changed(a_server_status(), jobs={job: a_job("eve", 4) for job in jobs}), Settings(), Ledger(), 0.0)


def test_an_operation_on_a_number_is_for_this_servers_job_and_one_on_anothers_says_so() -> None:
    now = peers("13.hpc1", "13.hpc2", "14.hpc2")
    assert full_names(now, "job", ["13", "13.hpc1", "14"]) == ("13.hpc1", "14.hpc2")
    assert asked_for(job_ops.delete(now, PBS, ["13.hpc1"]), "hpc1", Site()) == "13"
    operation = job_ops.delete(now, PBS, ["14.hpc2"])
    assert asked_for(operation, "hpc1", Site()) == "14.hpc2"
    assert any(plain(line).split()[0] == "14.hpc2" for line in operation_lines(operation, now))


def test_an_operation_on_a_number_that_several_others_have_is_refused() -> None:
    with pytest.raises(ChangeError, match="type the whole id"):
        full_names(peers("13.hpc2", "13.hpc3"), "job", ["13"])
