"""A line of the journal tells each preemption, each layout and each kind of waiting with code, numbers and sentence."""

from __future__ import annotations

import json
from typing import Any

from hooks.act.apply_plan import Outcome, Permissions
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.record.pass_as_journal_entry import Timing, describe_pass
from hooks.record.real_and_dry_run_counts import DryRunCounts
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, queue, running, server_status, vnode

TIMING = Timing(0.1, 0.2, 0.3)


def entry_of(seen: ServerStatus, ledger: Ledger = Ledger()) -> dict[str, Any]:  # noqa: B008 - a frozen value
    """The line of a pass over the picture, as it comes back from the journal."""
    translation = translate(seen, Settings())
    plan = decide(translation.snapshot, ledger, Settings())
    described = describe_pass(
        plan, translation, Settings(), Permissions(), Outcome(), DryRunCounts(seen.time_s, {}), TIMING, []
    )
    line: dict[str, Any] = json.loads(json.dumps(described))
    return line


def test_a_preemption_by_class_is_reported_with_both_classes() -> None:
    limits = {
        "max_run_res_soft.ncpus": "[u:alice=16],[u:bob=16]", "max_run_res_soft.user_priority": "[u:alice=1],[u:bob=5]",
    }  # fmt: skip
    entry = entry_of(
        server_status(
            {"1.s": running(8), "2.s": job(cores=8, user="bob")},
            vnodes={"v1": vnode(8, 8)},
            queues={"workq": {**queue(), **limits}},
        )
    )
    (preempt,) = entry["preempts"]
    assert (preempt["job"], preempt["beneficiary"], preempt["code"]) == ("1.s", "2.s", "preempted-class")
    assert preempt["numbers"] == {"beneficiary": "2.s", "above": 5, "class": 1}
    assert "class 5" in preempt["why"]
    (wait,) = entry["waits"]
    assert (wait["code"], wait["jobs"], wait["example"]) == ("preempting", 1, "2.s")


def test_a_reservation_that_nobody_can_tell_is_no_number() -> None:
    texts = running(8)
    del texts["Resource_List.walltime"]
    entry = entry_of(server_status({"1.s": texts, "2.s": job(cores=8)}, vnodes={"v1": vnode(8, 8)}))
    (wait,) = entry["waits"]
    assert wait["code"] == "reserved"
    assert wait["numbers"]["at_s"] is None


def test_a_striped_start_says_why_it_is_laid_out_so() -> None:
    striped = job(cores=4, Resource_List__select="1:ncpus=4:mpiprocs=4", Resource_List__pbsteer_width="2")
    (start,) = entry_of(server_status({"1.s": striped}))["starts"]
    assert (start["code"], start["numbers"]["width"]) == ("striped", 2)
    (plain,) = entry_of(server_status({"1.s": job()}))["starts"]
    assert "code" not in plain


def test_a_promise_that_moved_is_reported_with_whom_it_moved_for() -> None:
    """alice holds all 8 cores and waits for 8 more; bob's job within quota takes hers, and runs beyond her promise."""
    seen = server_status(
        {"1.s": running(8), "2.s": job(cores=8), "3.s": job(cores=8, user="bob")},
        vnodes={"v1": vnode(8, 8)},
        queues={"workq": {**queue(), "max_run_res_soft.ncpus": "[u:alice=0],[u:bob=8]"}},
    )
    promised_s = seen.time_s + 60
    (moved,) = entry_of(seen, Ledger(promises={"2.s": promised_s}))["moved"]
    assert (moved["job"], moved["was_s"], moved["beneficiary"]) == ("2.s", promised_s, "3.s")
    assert moved["at_s"] > promised_s
    assert entry_of(seen, Ledger())["moved"] == []


def test_a_sensor_that_vnodes_do_not_have_is_in_the_line_where_a_job_is_ranked_by_it() -> None:
    texts = {"resources_available.pbsteer_reading": f"t={NOW_S:.0f};idle=1.00"}
    vnodes = {name: {**vnode(8), **texts} for name in ("v1", "v2", "v3", "v4")}
    ranked = job(Resource_List__pbsteer_rank="stability")
    assert entry_of(server_status({"1.s": ranked}, vnodes))["no_sensor"] == {
        "temperature": {"vnodes": 4, "first": ["v1", "v2", "v3"]}
    }
    assert entry_of(server_status({"1.s": job()}, vnodes))["no_sensor"] == {}
