"""Passes of the bundled periodic hook: what they do in each mode, remember, and leave where they cannot."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import Any

import pytest

from hooks.control.circuit_breaker import CircuitBreaker
from hooks.control.pbs_scheduler.scheduler_switch import Switched
from hooks.deploy.bundle_hook import build
from hooks.pbs.files_and_output.fair_share_files import format_usage, read_usage
from hooks.store.compiled_modules import COMPILED
from hooks.store.state_files import (
    ALERTS,
    DAY,
    END_HOOK_NEEDED,
    EPISODES,
    LAST_PASS,
    LEDGER,
    PASSES,
    RUNS,
    SCHEDULERS,
)
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from tests.hooks.run_bundled_hook import Hook, submit
from tests.hooks.sample_server_statuses import job, queue, running, server_status, vnode


def run_pass(hook: Hook, mode: str, **parts: Any) -> Any:
    if "scheds" in parts:
        folder = hook.state.path.parent / "sched_priv"
        folder.mkdir(exist_ok=True)
        (folder / "sched_config").write_text("fair_share: false ALL\n")
        parts["scheds"] = {name: {**texts, "sched_priv": str(folder)} for name, texts in parts["scheds"].items()}
    cluster = server_status({"1.s": job()}, queues={"workq": queue(mode)}, **parts).to_data()
    answer = hook.run("periodic", cluster=cluster)
    assert answer["verdicts"] == [None]
    return answer


def acts_of(answer: Any) -> list[list[str]]:
    return [call for call in answer["calls"] if call[0] in ("start", "requeue", "alter", "scheduling")]


def test_a_pass_in_drive_starts_the_job_where_it_fits(hook: Hook) -> None:
    answer = run_pass(hook, "drive", vnodes={"v1": vnode(8, 8), "v2": vnode()})
    assert acts_of(answer) == [["start", "1.s", "(v2:ncpus=2)"]]
    (entry,) = hook.state.read_journal(9)
    assert (entry["acted"], entry["started"], entry["failures"]) == (["workq"], ["1.s"], [])
    assert hook.state.read_ledger()[1] == ""


def test_a_pass_in_drive_takes_vnodes_off_a_lower_class_and_gives_them_to_the_higher(hook: Hook) -> None:
    limits = {
        "max_run_res_soft.ncpus": "[u:alice=4],[u:bob=8]", "max_run_res_soft.user_priority": "[u:alice=1],[u:bob=5]",
    }  # fmt: skip
    queues = {"workq": {**queue("drive"), **limits}}
    beneficiary = {"2.s": job(cores=8, user="bob")}
    vnodes = {"v1": vnode(8, 8)}
    full = server_status({"1.s": running(8), **beneficiary}, queues=queues, vnodes=vnodes)
    assert acts_of(hook.run("periodic", cluster=full.to_data()))[0] == ["requeue", "1.s"]
    # The victim has ended; only the beneficiary gets its cores, though others have waited longer.
    waiting = {"0.s": job(cores=8, qtime="1795200000"), "1.s": job(cores=8), **beneficiary}
    free = server_status(waiting, queues=queues, vnodes={"v1": vnode(8, 0)})
    assert acts_of(hook.run("periodic", cluster=free.to_data()))[0] == ["start", "2.s", "(v1:ncpus=8)"]
    first, second = hook.state.read_journal(9)
    assert [preempt["code"] for preempt in first["preempts"]] == ["preempted-class"]
    assert (first["requeued"], second["started"]) == (["1.s"], ["2.s"])


def test_a_victim_whose_requeue_is_refused_is_asked_once_and_the_next_pass_takes_another(hook: Hook) -> None:
    limits = {
        "max_run_res_soft.ncpus": "[u:alice=16],[u:bob=8]", "max_run_res_soft.user_priority": "[u:alice=1],[u:bob=5]",
    }  # fmt: skip
    queues = {"workq": {**queue("drive"), **limits}}
    jobs = {"1.s": running(8), "2.s": {**running(8), "exec_vnode": "(v2:ncpus=8)"}, "9.s": job(cores=8, user="bob")}
    cluster = server_status(jobs, queues=queues, vnodes={"v1": vnode(8, 8), "v2": vnode(8, 8)}).to_data()
    refusals = dict.fromkeys(("1.s", "2.s"), "15038 Job Not Rerunnable")
    asked = []
    for _ in range(3):
        answer = hook.run("periodic", cluster=cluster, refusals=refusals)
        asked.append([call[1] for call in answer["calls"] if call[0] == "requeue"])
    # The two are refused one after the other, and then no run is left to ask.
    assert sorted(asked[0] + asked[1]) == ["1.s", "2.s"]
    assert asked[2] == []
    entry = hook.state.read_journal(9)[-1]
    assert "not preempted, as PBS refused to requeue them: 1.s, 2.s" in entry["notes"]
    assert "15038" in str(hook.state.read_journal(9)[0]["failures"])


def test_a_pass_publishes_when_queues_are_closed(hook: Hook) -> None:
    run_configured_pass(hook, "fair_share: false ALL\n", dedicated_time="01/01/2090 10:00 01/01/2090 12:00\n")
    begins_s, ends_s = (time.mktime((2090, 1, 1, hour, 0, 0, 0, 0, -1)) for hour in (10, 12))
    published = hook.state.read_published(LAST_PASS)["closed"]
    assert published == {"workq": [[begins_s, ends_s, "dedicated time", "runs", 0.0]]}


def test_a_pass_cuts_a_striped_job_into_its_pieces_before_it_starts_it(hook: Hook) -> None:
    striped = job(cores=4, Resource_List__select="1:ncpus=4:mpiprocs=4", Resource_List__pbsteer_layout="stripe")
    answer = hook.run("periodic", cluster=server_status({"1.s": striped}, queues={"workq": queue("drive")}).to_data())
    assert acts_of(answer) == [
        [
            *["alter", "1.s", "Resource_List.select", "4:ncpus=1:mpiprocs=1"],
            *["Resource_List.pbsteer_asked", "1:ncpus=4:mpiprocs=4"],
        ],
        ["start", "1.s", "(v1:ncpus=1)+(v1:ncpus=1)+(v2:ncpus=1)+(v2:ncpus=1)"],
    ]


def test_passes_learn_from_runs_that_have_ended_and_only_where_it_is_wanted(hook: Hook) -> None:
    clusters = [server_status(jobs, queues={"workq": queue("drive")}).to_data() for jobs in ({"1.s": running()}, {})]
    for settings, users in (({}, set()), ({"backfill": {"predictor": "ratio"}}, {"alice"})):
        for cluster in clusters:
            hook.run("periodic", cluster=cluster, settings=settings)
        assert hook.state.read_ledger()[0].history.keys() == users
    hook.run("periodic", cluster=clusters[1], settings=settings)
    assert len(hook.state.read_ledger()[0].history["alice"].last) == 1


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_a_pass_in_other_modes_only_writes_down_what_it_would_do(hook: Hook, mode: str) -> None:
    assert acts_of(run_pass(hook, mode)) == []
    (entry,) = hook.state.read_journal(9)
    assert [start["job"] for start in entry["starts"]] == ["1.s"]
    assert (entry["acted"], entry["started"]) == ([], [])
    assert not (hook.state.path / "ledger.json").exists()


SCHEDULING = {"default": {"scheduling": "True", "partition": "pbs-default", "state": "idle"}}


SWITCHED_OFF = {"default": {**SCHEDULING["default"], "scheduling": "False"}}


CYCLING = {"default": {**SWITCHED_OFF["default"], "state": "scheduling"}}


def test_a_pass_switches_the_scheduler_off_and_starts_jobs_only_once_it_has_seen_it_off(hook: Hook) -> None:
    first = run_pass(hook, "drive", scheds=SCHEDULING)
    assert acts_of(first) == [["scheduling", "default", "False"]]
    assert acts_of(run_pass(hook, "drive", scheds=CYCLING)) == []
    assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF)) == [["start", "1.s", "(v1:ncpus=2)"]]
    told = [" ".join(entry["notes"]) for entry in hook.state.read_journal(9)]
    assert ["being switched off" in told[0], "ending its last cycle" in told[1], told[2]] == [True, True, ""]


def run_configured_pass(hook: Hook, sched_config: str, **files: str | bytes) -> Any:
    """A pass in drive beside a scheduler that is off, with these files in its ``sched_priv``."""
    folder = hook.state.path.parent / "sched_priv"
    folder.mkdir(exist_ok=True)
    for name, content in {"sched_config": sched_config, **files}.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    scheds = {"default": {**SWITCHED_OFF["default"], "sched_priv": str(folder)}}
    cluster = server_status({}, queues={"workq": queue("drive")}, scheds=scheds).to_data()
    assert hook.run("periodic", cluster=cluster)["verdicts"] == [None]
    return folder


def test_usage_of_fair_share_decays_in_its_file_while_no_job_runs(hook: Hook) -> None:
    begun_s = int(time.time()) - 3 * 86_400 - 60
    config = "fair_share: True ALL\nfairshare_decay_time: 24:00:00\nfairshare_decay_factor: 0.5\n"
    tree, usage = "alice 10 root 50\n", format_usage([("alice", 800.0)], begun_s)
    folder = run_configured_pass(hook, config, resource_group=tree, usage=usage)
    # The first pass only notes what the scheduler's last cycle saw.
    run_configured_pass(hook, config)
    used, decayed_s = read_usage((folder / "usage").read_bytes().decode("latin-1"))
    assert (used["alice"], decayed_s) == (100.0, begun_s + 3 * 86_400)
    assert (folder / "usage.touch").exists()


def test_an_obstacle_is_said_once_with_the_queue_that_it_stops(hook: Hook) -> None:
    run_configured_pass(hook, "fair_share: True ALL\nround_robin: True ALL\n")
    (entry,) = hook.state.read_journal(9)
    assert [note for note in entry["notes"] if "round_robin" in note] == [
        "queue workq is not driven: fair_share and round_robin are both true, which pbsteer does not honour"
    ]


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_a_pass_that_finds_another_mode_switches_the_scheduler_on_again(hook: Hook, mode: str) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    assert acts_of(run_pass(hook, mode, scheds=SWITCHED_OFF)) == [["scheduling", "default", "True"]]
    assert acts_of(run_pass(hook, mode, scheds=SWITCHED_OFF)) == []


def end_rest(hook: Hook) -> int:
    """Let the present rest be over; returns how long it was."""
    breaker = CircuitBreaker.read(hook.state)
    breaker._replace(rest_began_s=breaker.rest_began_s - breaker.rest_s).write(hook.state)
    return breaker.rest_s


@pytest.mark.slow
def test_three_failed_passes_hand_the_queues_back_until_ten_good_ones(hook: Hook) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    (hook.state.path / ".summary.json.new").symlink_to(".summary.json.new")
    for _ in range(3):
        assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF)) == []
    answer = run_pass(hook, "drive", scheds=SWITCHED_OFF)
    assert acts_of(answer) == [["scheduling", "default", "True"]]
    assert "3 passes in a row have failed: scheduler default is switched on again" in " ".join(answer["logged"])
    (hook.state.path / ".summary.json.new").unlink()
    end_rest(hook)
    acts = [acts_of(run_pass(hook, "drive", scheds=SCHEDULING)) for _ in range(11)]
    assert acts == [[["scheduling", "default", "True"]], *[[]] * 9, [["scheduling", "default", "False"]]]
    assert "drives again after 1 more" in " ".join(hook.state.read_journal(2)[0]["notes"])


def test_passes_rest_once_three_have_failed_and_twice_as_long_when_the_next_one_fails_too(hook: Hook) -> None:
    (hook.state.path / ".summary.json.new").symlink_to(".summary.json.new")
    for _ in range(3):
        run_pass(hook, "drive", scheds=SWITCHED_OFF)
    assert "passes rest for 10 min" in " ".join(run_pass(hook, "drive", scheds=SWITCHED_OFF)["logged"])
    resting = run_pass(hook, "drive", scheds=SWITCHED_OFF)
    assert (resting["calls"], resting["logged"], resting["verdicts"]) == ([], [], [None])
    assert end_rest(hook) == 600
    assert "the periodic hook failed" in run_pass(hook, "drive", scheds=SWITCHED_OFF)["logged"][0]
    assert "passes rest for 20 min" in " ".join(run_pass(hook, "drive", scheds=SWITCHED_OFF)["logged"])
    assert end_rest(hook) == 1200


@pytest.mark.parametrize(
    "server",
    [
        {"name": "s", "scheduling": "False", "default_queue": "workq"},
        {"name": "s", "scheduling": "True", "default_queue": "workq", "resources_available.pbsteer_paused": "fire"},
    ],
)
def test_passes_that_fail_do_not_end_a_pause_and_hand_the_queues_back_after_it(
    hook: Hook, server: dict[str, str]
) -> None:
    (hook.state.path / ".summary.json.new").symlink_to(".summary.json.new")
    Switched(frozenset({"default"}), unset=True).write(hook.state)
    for _ in range(5):
        assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF, server=server)) == []
    working = {"name": "s", "scheduling": "True", "default_queue": "workq"}
    answer = run_pass(hook, "drive", scheds=SWITCHED_OFF, server=working)
    assert acts_of(answer) == [["scheduling", "default", "True"]]


@pytest.mark.parametrize(("paused", "acts"), [("", [["scheduling", "default", "True"]]), ("fire", [])])
def test_passes_that_the_full_disk_lets_nobody_count_hand_the_queues_back_after_three_intervals(
    hook: Hook, paused: str, acts: list[list[str]]
) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    (hook.state.path / ".passes.json.new").symlink_to(".passes.json.new")
    server = {"name": "s", "scheduling": "True", "default_queue": "workq"}
    if paused:
        server["resources_available.pbsteer_paused"] = paused
    assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF, server=server)) == []
    counted_s = time.time() - 3 * Settings().schedule.interval_s - 1
    os.utime(hook.state.path / PASSES, (counted_s, counted_s))
    assert acts_of(run_pass(hook, "drive", scheds=SWITCHED_OFF, server=server)) == acts


def test_passes_that_fail_leave_no_victim_held(hook: Hook) -> None:
    mark = "pbsteer for=2.s how=requeue asked=1795207200 until=1795207200 held"
    held = {"1.s": job("H", Hold_Types="s", estimated__site=mark), "2.s": job(cores=99)}
    cluster = server_status(held, queues={"workq": queue("advise")}, scheds=SCHEDULING).to_data()
    (hook.state.path / ".summary.json.new").symlink_to(".summary.json.new")
    for _ in range(3):
        assert acts_of(hook.run("periodic", cluster=cluster)) == []
    answer = hook.run("periodic", cluster=cluster)
    assert [call[:3] for call in answer["calls"] if call[1:2] == ["1.s"]] == [
        ["release", "1.s", "s"], ["alter", "1.s", "estimated.site"],
    ]  # fmt: skip
    assert "job 1.s is held no longer" in " ".join(answer["logged"])


def test_settings_that_cannot_be_read_count_as_failed_passes(hook: Hook) -> None:
    run_pass(hook, "drive", scheds=SCHEDULING)
    cluster = server_status({"1.s": job()}, queues={"workq": queue("drive")}, scheds=SWITCHED_OFF).to_data()
    acts = [acts_of(hook.run("periodic", cluster=cluster, settings={"no": "such table"})) for _ in range(4)]
    assert acts == [[], [], [], [["scheduling", "default", "True"]]]


def test_what_would_be_done_is_counted_by_episode(hook: Hook) -> None:
    for _ in range(3):
        run_pass(hook, "observe")
    hook.run("periodic", cluster=server_status({}, queues={"workq": queue("observe")}).to_data())
    run_pass(hook, "observe")
    assert [entry["would"]["starts"] for entry in hook.state.read_journal(9)] == [1, 1, 1, 1, 2]


def test_a_pass_tells_the_other_hooks_the_modes(hook: Hook) -> None:
    run_pass(hook, "drive")
    answer = hook.run("queuejob", events=[submit(select="17:ncpus=1"), submit(select="16:ncpus=1")])
    assert [verdict is None for verdict in answer["verdicts"]] == [False, True]


def test_a_pass_leaves_the_folder_to_one_that_is_still_busy(hook: Hook) -> None:
    with hook.state.locked():
        answer = run_pass(hook, "drive")
    assert acts_of(answer) == []
    assert "another pass" in answer["logged"][0]


def test_a_pass_whose_hook_is_removed_meanwhile_ends_without_a_word(hook: Hook) -> None:
    begun = "            breaker = begin_pass(pbs_ifl, state, settings, sentences, alerts, changed_s(config))"
    gone = build("periodic").replace(begun, f"            __import__('os').unlink(config)\n{begun}", 1)
    assert gone.count("unlink(config)") == 1
    cluster = server_status({"1.s": job()}, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", text=gone, cluster=cluster)
    assert (answer["logged"], acts_of(answer)) == ([], [])
    # One whose script is still there has only lost its settings, and says so.
    (hook.home / "config.PY").write_text("")
    assert "No such file" in hook.run("periodic", text=gone, cluster=cluster)["logged"][-1]


def test_a_pass_that_begins_when_its_hook_is_gone_leaves_no_folder_behind(hook: Hook) -> None:
    shutil.rmtree(hook.state.path)
    cluster = server_status({}, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", cluster=cluster, config=str(hook.home / "gone.CF"))
    assert (answer["logged"], acts_of(answer)) == ([], [])
    assert not hook.state.path.exists()


def test_a_pass_that_finds_the_folder_held_by_the_removal_of_its_hook_is_silent(hook: Hook) -> None:
    held = "        with state.locked():"
    gone = build("periodic").replace(held, f"        __import__('os').unlink(config)\n{held}", 1)
    assert gone.count("unlink(config)") == 1
    cluster = server_status({}, queues={"workq": queue("drive")}).to_data()
    with hook.state.locked():
        answer = hook.run("periodic", text=gone, cluster=cluster)
    assert answer["logged"] == []


def test_a_pass_starts_anew_with_a_ledger_that_cannot_be_read_and_says_so(hook: Hook) -> None:
    (hook.state.path / "ledger.json").write_text('{"version": 99}')
    answer = run_pass(hook, "drive")
    assert acts_of(answer) != []
    assert "version 99" in answer["logged"][0]


def test_a_pass_starts_jobs_whatever_is_damaged_of_what_earlier_passes_left(hook: Hook) -> None:
    for name in (ALERTS, SCHEDULERS, PASSES, RUNS, EPISODES, DAY, END_HOOK_NEEDED):
        (hook.state.path / name).write_text("[" * 200_000)
    (hook.state.path / LEDGER).write_text(json.dumps(Ledger().to_data()).replace("0.0", "Infinity"))
    answer = run_pass(hook, "drive", vnodes={"v1": vnode()})
    assert acts_of(answer) == [["start", "1.s", "(v1:ncpus=2)"]]
    assert len(answer["logged"]) == 1 and "an empty ledger is begun" in answer["logged"][0]


def test_a_pass_that_cannot_remember_does_nothing(hook: Hook) -> None:
    write, fail = "view = view[os.write(descriptor, view) :]", "raise OSError(28, 'No space left on device')"
    full = build("periodic").replace(write, fail, 1)
    assert fail in full
    cluster = server_status({"1.s": job()}, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", text=full, cluster=cluster)
    assert (answer["verdicts"], acts_of(answer)) == ([None], [])
    assert "No space left on device" in answer["logged"][0]


def test_no_name_of_a_job_disturbs_a_pass(hook: Hook) -> None:
    names = ["[/red]", "[@click=app.quit]x[/]", "\x1b[2J", "a\nb", "\U0001f600", "'\"\\", "\udcff"]
    jobs = {f"{number}.s": job(Job_Name=name, comment=name) for number, name in enumerate(names)}
    jobs["9.s"] = running(Job_Name="\x00")
    answer = hook.run("periodic", cluster=server_status(jobs, queues={"workq": queue("drive")}).to_data())
    assert len([call for call in acts_of(answer) if call[0] == "start"]) == len(names)
    assert len(hook.state.read_journal(9)) == 1


def test_a_pass_decides_as_much_as_it_has_time_for_and_names_who_is_left_out(hook: Hook) -> None:
    """A part of a second for 6,000 jobs of 50 kinds of chunks."""
    texts = job(user="mallory")
    texts["Resource_List.select"] = "+".join(f"1:ncpus=0:mem={kib + 1}kb" for kib in range(50))
    jobs = {f"{number}.s": texts for number in range(1, 6001)}
    cluster = server_status(jobs, queues={"workq": queue("drive")}, vnodes={"v1": vnode(8), "v2": vnode(8)}).to_data()
    entry, left_out = decide_within(hook, 0.5, cluster)
    budget_s = 1.0
    # Where other work keeps the machine busy, reading alone takes the time of the smaller budgets.
    while not entry["starts"] and budget_s < 16:
        entry, left_out = decide_within(hook, budget_s, cluster)
        budget_s *= 2
    assert 0 < len(entry["starts"]) == 6000 - left_out < 6000
    assert any(note.startswith(f"{left_out:,} jobs not looked at") for note in entry["notes"])
    assert "slowest" in entry


def decide_within(hook: Hook, budget_s: float, cluster: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The journal's entry of a pass with this budget, and how many jobs it had no time for."""
    settings = {"schedule": {"budget_s": budget_s, "max_starts": 10_000}}
    assert hook.run("periodic", cluster=cluster, settings=settings)["verdicts"] == [None]
    entry = hook.state.read_journal(9)[-1]
    return entry, sum(wait["jobs"] for wait in entry["waits"] if wait["code"] == "not-looked-at")


def test_a_pass_whose_server_is_gone_says_so_and_has_not_failed(hook: Hook) -> None:
    for _ in range(4):
        answer = hook.run("periodic", cluster={**server_status().to_data(), "away": True})
        (line,) = answer["logged"]
        assert line.startswith("no pass of pbsteer: cannot connect to the PBS server")
    assert CircuitBreaker.read(hook.state).unfinished == 0


@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_of_an_answer_is_gone_too(
    hook: Hook,
) -> None:
    cluster = {**server_status({"1.s": job()}).to_data(), "ends": True}
    for _ in range(10):
        (line,) = hook.run("periodic", cluster=cluster)["logged"]
        assert line.startswith("no pass of pbsteer: cannot read the")
    assert CircuitBreaker.read(hook.state).unfinished == 0
    hook.run("periodic", cluster=cluster)
    assert CircuitBreaker.read(hook.state).unfinished == 1


def test_what_a_user_writes_reaches_the_log_and_the_comments_in_printable_form(hook: Hook) -> None:
    """The job's operating system is told in the comment, why its start was refused in the log."""
    wish = {"Resource_List__select": "1:ncpus=1:aoe=a\x1b]0;OWNED\x07"}
    jobs = {"1.s": job(**wish), "2.s": job()}  # type: ignore[arg-type]
    cluster = server_status(jobs, queues={"workq": queue("drive")}).to_data()
    answer = hook.run("periodic", cluster=cluster, refusals={"2.s": "no \x1b[31m\n11/22/2026 11:00:00;0008;forged"})
    written = [*answer["logged"], *(word for call in answer["calls"] for word in call)]
    assert any(r"a\x1b]0;OWNED\x07" in text for text in written)
    assert any(r"\n11/22/2026" in text for text in answer["logged"])
    assert all(text.isprintable() for text in written)


def test_the_next_pass_takes_its_modules_compiled_and_a_damaged_file_stops_none(hook: Hook) -> None:
    stored = hook.state.path / COMPILED
    assert not stored.exists()
    run_pass(hook, "observe")
    run_pass(hook, "observe")
    whole = stored.read_bytes()
    assert len(whole) > 100_000
    assert not {COMPILED, f".{COMPILED}.new"} & {path.name for path in hook.state.path.parent.iterdir()}
    for damaged in (whole[:5000], whole[:-1] + b"?", b""):
        stored.write_bytes(damaged)
        assert run_pass(hook, "observe")["logged"] == []
        assert stored.read_bytes() == whole
    before = stored.stat()
    assert run_pass(hook, "observe")["logged"] == []
    assert stored.stat().st_ino == before.st_ino
    assert len(hook.state.read_journal(9)) == 6
