"""What a job holds and what a node gives: texts of Torque 5 and 6, of older versions, and such as cannot be read."""

from __future__ import annotations

import pytest

from hooks.pbs.files_and_output.slots_of_exec_host import count_slots
from torque.translate.exec_host_as_exec_vnode import node_list_for_qrun, read_exec_vnode, read_jobs_of_node
from torque.translate.nodes import read_node, read_report


@pytest.mark.parametrize(
    ("exec_host", "exec_vnode"),
    [
        ("trq1/0-1+trq2/3-4", "(trq1:ncpus=2)+(trq2:ncpus=2)"),
        ("trq1/0,2-3", "(trq1:ncpus=3)"),
        ("trq1/1+trq1/0+trq2/4", "(trq1:ncpus=2)+(trq2:ncpus=1)"),
        ("", ""),
        ("trq1", ""),
        ("trq1/x", ""),
        ("trq1/99999999999", ""),
    ],
)
def test_slots_of_a_job(exec_host: str, exec_vnode: str) -> None:
    assert read_exec_vnode(exec_host) == exec_vnode


def test_gpus_of_a_job_are_counted_by_host() -> None:
    assert read_exec_vnode("a/0+b/0", "a-gpu/0+a-gpu/1") == "(a:ncpus=1:ngpus=2)+(b:ncpus=1)"


def test_jobs_of_a_node() -> None:
    assert read_jobs_of_node("0-1/84.trq0,2/85.trq0") == {"84.trq0": 2, "85.trq0": 1}
    assert read_jobs_of_node("0,2-3/84.trq0, 5/17[0].trq0") == {"84.trq0": 3, "17[0].trq0": 1}
    assert read_jobs_of_node("") == {}


def test_a_place_names_each_host_once_and_with_its_slots() -> None:
    assert node_list_for_qrun("(a:ncpus=2)+(b:ncpus=1)+(a:ncpus=1)") == "a:ppn=3+b:ppn=1"


def test_ranges_that_run_backwards_are_none() -> None:
    assert count_slots("3-1") == 0


def test_a_full_node_is_busy_and_one_that_a_job_has_alone_is_exclusive() -> None:
    full = {"np": "2", "state": "job-exclusive", "jobs": "0-1/1.s"}
    assert read_node("a", full)["state"] == "job-busy"
    assert read_node("a", {**full, "jobs": "0/1.s"})["state"] == "job-exclusive"
    assert read_node("a", {**full, "state": "down,offline", "jobs": ""})["state"] == "down,offline"


def test_a_report_may_have_commas_in_a_value() -> None:
    assert read_report("opsys=linux,varattr= ,jobs=1.s 2.s,message=a,b") == {
        "opsys": "linux", "varattr": "", "jobs": "1.s 2.s", "message": "a,b",
    }  # fmt: skip
