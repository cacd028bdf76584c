"""The hooks in a real server: put in, at work, failing on purpose, taken out."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.deploy.bundle_hook import EVENTS, build, source_digest
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.hook_events_alarms_and_order import HOOK_EVENTS
from hooks.deploy.read_installed_server_state import DeployError, Reply
from hooks.reader.answer_console_by_json_lines import __file__ as reader_file
from hooks.reader.apply_status_differences import Assembly
from hooks.store.compiled_modules import COMPILED
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.hooks.deploy_on_testbed import (
    deploy,
    deploy_and_drive,
    last_pass,
    make_deployment,
    quick_settings,
    state_of,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster
from tests.pbs.quotas.test_reservation_quotas_real import clear, reserve

ROOT = Path(__file__).parents[3]
CLI = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tui.cli.hooks_commands.hooks import hooks; hooks()"
HOSTILE_WORDS = [
    "[/red]",
    "[@click=app.quit]x[/]",
    "\x1b[2Jx",
    "a\nb",
    "\U0001f600",
    "x'\"\\",
    "$(reboot)",
    "-x",
    "a" * 230,
]


def read_server(pbs: PbsCluster) -> list[str]:
    """All that qmgr prints of the server, the time of day apart."""
    questions = (
        "print server",
        "print node @default",
        "print hook @default",
        "list hook",
        "list resource",
        "list sched",
    )
    lines = [line for question in questions for line in pbs.qmgr(question).splitlines()]
    return [line for line in lines if " state = " not in line]


def run_cli(pbs: PbsCluster, *words: str) -> str:
    return pbs.run([sys.executable, "-c", CLI, *words]).demand_success().stdout


def test_taking_the_hooks_out_leaves_the_server_as_it_was_found(pbs: PbsCluster) -> None:
    before = read_server(pbs)
    home = set(pbs.server_home.iterdir())
    deployment = deploy_and_drive(pbs, quick_settings())
    pbs.qmgr("set queue workq max_run_res_soft.user_priority = '[u:alice=10],[u:bob=5]'")
    job_id = pbs.qsub("alice", ("/bin/sleep", "1"))
    pbs.wait_for_state(job_id, "F")
    pbs.qmgr("unset queue workq max_run_res_soft.user_priority")
    deployment.remove(lambda _: None)
    assert read_server(pbs) == before
    assert set(pbs.server_home.iterdir()) == home


def test_the_command_line_shows_applies_tells_and_removes(pbs: PbsCluster, tmp_path: Path) -> None:
    before = read_server(pbs)
    policy = tmp_path / "site.toml"
    policy.write_text("[schedule]\ninterval_s = 2\nbudget_s = 1.5\n")
    planned = run_cli(pbs, "plan", "--policy", str(policy)).splitlines()
    assert read_server(pbs) == before
    applied = run_cli(pbs, "apply", "--policy", str(policy)).splitlines()
    assert applied[:-1] == planned
    assert "nothing to do" in run_cli(pbs, "plan", "--policy", str(policy))
    wait_for_pass(pbs)
    status = run_cli(pbs, "status")
    assert status.count("this version") == len(EVENTS)
    # In observe there is nothing to do for the start hook, nor for the one at a job's end.
    assert (status.count("enabled"), status.count("off, as passes switch it")) == (len(EVENTS) - 2, 2)
    assert "workq              observe" in status
    assert "errors in today's server log: none" in status
    run_cli(pbs, "remove")
    assert read_server(pbs) == before


def test_an_apply_of_which_a_line_fails_leaves_the_server_as_it_was(pbs: PbsCluster) -> None:
    before = read_server(pbs)

    def qmgr(line: str) -> Reply:
        if line.startswith("import hook pbsteer_periodic application/x-python"):
            line = line.replace("pbsteer_periodic.py", "no-such-file.py")
        done = pbs.run(["qmgr", "-c", line])
        return Reply(done.status, done.stdout, done.stderr)

    with pytest.raises(DeployError, match=r"no-such-file\.py.*; the server is as it was before"):
        Deployment(str(pbs.server_home), qmgr).apply(quick_settings(), lambda _: None)
    assert read_server(pbs) == before


def test_observing_does_nothing_but_write_down_what_it_would_do(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("set server scheduling = False")
    job_id = pbs.qsub("alice", select="1:ncpus=2")
    too_large = pbs.qsub("alice", select="1:ncpus=999")
    wait_for_pass(pbs)
    assert (pbs.job_state(job_id), pbs.job_state(too_large)) == ("Q", "Q")
    assert "comment" not in pbs.job(job_id)
    entry = last_pass(pbs)
    assert (entry["acted"], [start["job"] for start in entry["starts"]]) == ([], [job_id])
    assert "its jobs are not started" in " ".join(entry["notes"])


def test_passes_take_their_modules_compiled_from_the_first_one(pbs: PbsCluster) -> None:
    make_deployment(pbs).apply(quick_settings(), lambda _: None)
    wait_for_pass(pbs)
    stored = state_of(pbs).path / COMPILED
    pbs.wait_until(stored.exists, 30, "the first pass has left its compiled modules")
    first = stored.stat()
    assert (first.st_uid, first.st_mode & 0o777) == (0, 0o600)
    for _ in range(2):
        wait_for_pass(pbs)
    assert stored.stat().st_ino == first.st_ino
    # Damage costs one pass its compiling, and nothing else.
    stored.write_bytes(stored.read_bytes()[:1000])
    pbs.wait_until(lambda: stored.stat().st_size == first.st_size, 30, "the damaged file is replaced")
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == []


def test_driving_starts_jobs_arrays_and_jobs_without_walltime_or_select(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    jobs = [
        pbs.qsub("alice", ("/bin/sleep", "2"), select="2:ncpus=3:mem=1gb"),
        pbs.qsub("bob", ("/bin/sleep", "2"), select=None, walltime=None, options=["-l", "ncpus=2"]),
        pbs.qsub("carol", ("/bin/sleep", "2"), select=None, walltime=None),
        pbs.qsub("dave", ("/bin/sleep", "2"), options=["-J", "1-6:2"]),
    ]
    for job_id in jobs:
        pbs.wait_for_state(job_id, "F")
    ended = pbs.qstat_json()
    array = jobs[-1].replace("[]", "[{}]")
    runs = [*jobs[:-1], *(array.format(index) for index in (1, 3, 5))]
    assert [(ended[job_id]["run_count"], ended[job_id]["Exit_status"]) for job_id in runs] == [(1, 0)] * len(runs)


def test_driving_leaves_held_and_dependent_jobs_and_says_why(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    first = pbs.qsub("alice", ("/bin/sleep", "60"))
    held = pbs.qsub("alice", ("/bin/sleep", "1"), options=["-h"])
    after = pbs.qsub("alice", ("/bin/sleep", "1"), options=["-W", f"depend=afterany:{first}"])
    pbs.wait_for_state(first, "R")
    wait_for_pass(pbs)
    assert (pbs.job_state(held), pbs.job_state(after)) == ("H", "H")
    assert "held by its owner" in pbs.job(held)["comment"]
    assert "waits for other jobs" in pbs.job(after)["comment"]
    pbs.run(["qrls", held]).demand_success()
    pbs.run(["qdel", first]).demand_success()
    for job_id in (held, after):
        pbs.wait_for_state(job_id, "F")


def test_driving_leaves_offline_vnodes_alone(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    pbs.run(["pbsnodes", "-o", pbs.mom_names[0]]).demand_success()
    jobs = [pbs.qsub("alice", select=f"1:ncpus={pbs.spec.cores}") for _ in pbs.mom_names]
    pbs.wait_until(lambda: [pbs.job_state(job) for job in jobs].count("R") == len(jobs) - 1, 120.0, "all but one run")
    wait_for_pass(pbs)
    assert sorted(pbs.job_state(job) for job in jobs) == ["Q", "R", "R"]
    pbs.run(["pbsnodes", "-r", pbs.mom_names[0]]).demand_success()
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, "all run")


def test_a_queue_that_names_no_mode_has_that_of_the_settings(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("drive"))
    pbs.wait_until(lambda: last_pass(pbs)["acted"] == ["workq"], 120.0, "a pass that drives")
    job_id = pbs.qsub("alice", ("/bin/sleep", "1"))
    pbs.wait_for_state(job_id, "F")
    assert job_id in {started for entry in state_of(pbs).read_journal(1000) for started in entry["started"]}


def test_what_can_never_run_is_refused_at_submission(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("drive"))
    cores = pbs.spec.cores
    refused = pbs.wait_for_refusal("alice", select=f"1:ncpus={cores + 1}")
    assert f"one chunk asks for ncpus={cores + 1}, and the largest host open to that queue has ncpus={cores}" in refused
    together = pbs.wait_for_refusal("alice", select=f"{len(pbs.mom_names) + 1}:ncpus={cores}")
    assert "all vnodes open to that queue" in together
    pbs.wait_for_state(pbs.qsub("alice", select=f"{len(pbs.mom_names)}:ncpus={cores}"), "R")


def test_advising_gives_pbss_scheduler_the_shrunk_estimate(pbs: PbsCluster) -> None:
    shrunk = BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=3600)
    deploy(pbs, quick_settings("advise", backfill=shrunk, checkpoint=CheckpointSettings(saves=True)))

    def estimates(*jobs: str) -> list[str | None]:
        return [pbs.job(job_id)["Resource_List"].get("soft_walltime") for job_id in jobs]

    jobs = [pbs.qsub("alice", walltime=walltime) for walltime in ("10:00:00", "01:00:00", None)]
    assert estimates(*jobs) == ["05:00:00", None, None]
    stay = [pbs.qsub("alice", walltime="10:00:00", options=options) for options in (("-r", "n"), ("-c", "n"))]
    assert estimates(*stay) == [None, None]
    queued = pbs.qsub("alice", select=f"{len(pbs.mom_names)}:ncpus={pbs.spec.cores}", walltime="10:00:00")
    assert estimates(queued) == ["05:00:00"]
    pbs.run(["qalter", "-r", "n", queued], user="alice").demand_success()
    assert estimates(queued) == [None]


def test_a_deliberate_overcommit_is_refused_whoever_asks_for_it(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    cores, vnode = pbs.spec.cores, pbs.mom_names[0]
    first, second = (pbs.qsub("alice", select=f"1:ncpus={cores - 1}") for _ in range(2))
    pbs.run(["qrun", "-H", f"({vnode}:ncpus={cores - 1})", first]).demand_success()
    for place in (f"({vnode}:ncpus={cores - 1})", f"({vnode}:ncpus=1)+({vnode}:ncpus=1)"):
        refused = pbs.run(["qrun", "-H", place, second])
        assert refused.status != 0
        assert f"vnode {vnode} has ncpus={cores}, of which {cores - 1} are in use" in refused.stderr
    assert pbs.pbsnodes()[vnode]["resources_assigned"]["ncpus"] == cores - 1
    assert pbs.job_state(second) == "Q"
    pbs.run(["qrun", "-H", f"({vnode}:ncpus=1)", second]).demand_success()
    pbs.wait_for_state(second, "R")


@pytest.mark.parametrize("how", [["qrun"], ["qrun", "-a"]], ids=["waiting", "not-waiting"])
def test_starts_in_the_same_instant_do_not_overcommit(pbs: PbsCluster, how: list[str]) -> None:
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    cores, vnode = pbs.spec.cores, pbs.mom_names[1]
    jobs = [pbs.qsub("alice", select="1:ncpus=3") for _ in range(6)]
    starts = " ".join(f"{' '.join(how)} -H '({vnode}:ncpus=3)' {job_id} &" for job_id in jobs)
    pbs.run(["sh", "-c", f"{starts} wait"])
    pbs.wait_until(lambda: pbs.pbsnodes()[vnode]["resources_assigned"]["ncpus"] >= 6, 120.0, "two starts")
    wait_for_pass(pbs)
    assert pbs.pbsnodes()[vnode]["resources_assigned"]["ncpus"] == 6 <= cores
    assert sorted(pbs.job_state(job_id) for job_id in jobs) == ["Q"] * 4 + ["R"] * 2


def wait_for_complaint(pbs: PbsCluster, event: str) -> None:
    """Until the event's hook has failed: its traceback is in the log of whoever ran it."""
    log = pbs.mom_log if HOOK_EVENTS[event].on_moms else pbs.server_log
    complaint = f"pbsteer: the {event} hook failed and lets PBS go on"
    pbs.wait_until(lambda: complaint in log(), 120.0, f"{complaint!r} in the log")


@pytest.mark.takes(60)
def test_hooks_that_raise_hold_up_neither_submissions_nor_starts(pbs: PbsCluster, tmp_path: Path) -> None:
    server = ServerSettings(mode="advise", end_hook="always")
    deploy(pbs, replace(quick_settings(ranking=RankingSettings(interval_s=2)), server=server))
    before = len(pbs.server_log())
    for event in EVENTS:
        text = build(event)
        start = "def handle(pbs: Any) -> str | None:"
        raising = text.replace(start, f"{start}\n    raise RuntimeError('on purpose')", 1)
        assert raising != text
        # As another version: of one version the server keeps what it has loaded, as by the requests above.
        (tmp_path / "raising.py").write_text(raising.replace(source_digest(), "0" * 12))
        pbs.qmgr(f"import hook pbsteer_{event} application/x-python default {tmp_path / 'raising.py'}")
    jobs = [pbs.qsub(user, ("/bin/sleep", "1")) for user in ("alice", "bob")]
    for job_id in jobs:
        assert pbs.wait_for_state(job_id, "F")["Exit_status"] == 0
    by_hand = pbs.qsub("alice", ("/bin/sleep", "1"), options=["-h"])
    pbs.run(["qalter", "-l", "walltime=00:09:00", by_hand], user="alice").demand_success()
    pbs.run(["qmove", "workq", by_hand], user="alice").demand_success()
    pbs.run(["qrls", by_hand]).demand_success()
    assert pbs.wait_for_state(by_hand, "F")["Exit_status"] == 0
    reserved = reserve(pbs, "alice", 1).demand_success().stdout.split()[0]
    pbs.run(["pbs_ralter", "-N", "renamed", reserved], user="alice").demand_success()
    pbs.qmgr("set queue workq Priority = 1")
    clear(pbs)
    pbs.wait_until(lambda: "the periodic hook failed" in pbs.server_log()[before:], 120.0, "a pass that raised")
    for event in EVENTS:
        wait_for_complaint(pbs, event)
    assert "RuntimeError: on purpose" in pbs.server_log()[before:]
    assert "RuntimeError: on purpose" in pbs.mom_log()
    status = pbs.run([sys.executable, "-c", CLI, "status"])
    assert status.status == 1
    assert "the periodic hook failed" in status.stdout


def test_hostile_words_go_through_qsub_and_disturb_no_pass(pbs: PbsCluster) -> None:
    """This qsub takes few of them as a name; as an account it takes all, as a project some. Line breaks are refused."""
    before = len(pbs.server_log())
    deploy_and_drive(pbs, quick_settings())
    tried = {
        (option, word): pbs.try_qsub("alice", ("/bin/sleep", "1"), options=[option, word])
        for option in ("-N", "-A", "-P")
        for word in HOSTILE_WORDS
    }
    jobs = {key: done.stdout.strip() for key, done in tried.items() if done.status == 0}
    assert {word for option, word in jobs if option == "-A"} == {word for word in HOSTILE_WORDS if "\n" not in word}
    for job_id in jobs.values():
        assert pbs.wait_for_state(job_id, "F")["Exit_status"] == 0
    wait_for_pass(pbs)
    assert last_pass(pbs)["failures"] == []
    assert "hook failed" not in pbs.server_log()[before:]


def test_the_reader_gives_the_console_its_picture(pbs: PbsCluster, pbs_exec: str) -> None:
    job_id = pbs.qsub("alice", select="1:ncpus=2", options=["-J", "1-3"])
    pbs.wait_for_state(job_id, "B")
    argv = [f"{pbs_exec}/bin/pbs_python", "-I", reader_file, pbs_exec]
    lines = pbs.run(argv, stdin='{"want": "status"}\n').demand_success().stdout.splitlines()
    assembly = Assembly()
    server_status = [assembly.take(json.loads(line)) for line in lines][-1]
    assert server_status is not None
    assert server_status.jobs[job_id]["job_state"] == "B"
    running = [job for job in server_status.jobs if "[]" not in job]
    assert len(running) == 3
    assert sorted(server_status.vnodes) == sorted(pbs.mom_names)


def test_a_pass_carries_on_after_the_server_was_away(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    running = pbs.qsub("alice")
    pbs.wait_for_state(running, "R")
    waiting = pbs.qsub("bob", options=["-h"])
    pbs.stop_server()
    pbs.start_server()
    wait_for_pass(pbs)
    pbs.run(["qrls", waiting]).demand_success()
    pbs.wait_for_state(waiting, "R")
    assert pbs.job(running)["run_count"] == 1
    assert len(state_of(pbs).read_journal(1000)) > 2
