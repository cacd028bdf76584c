"""Operations: the commands that could be typed, what they do and take back, what is refused, and what is foreseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, PBS, ScriptedBackend, a_server_status
from tui.audit.audit_file import Actor, AuditLog
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.operations.by_target import job_ops, queue_ops, vnode_ops
from tui.operations.compare_and_set import make
from tui.operations.confirmation.confirmation_lines import operation_lines
from tui.operations.operation_type_and_preview import Operation, preview_operation
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit.jsonl", Actor("root", "here"), "hpc1")


def cluster(backend: ScriptedBackend | None = None) -> ClusterView:
    return see(backend.server_status if backend else a_server_status(), Settings(), Ledger(), 0.0)


OPERATIONS: dict[str, tuple[Callable[[ClusterView], Operation], list[str]]] = {
    "hold": (lambda w: job_ops.hold(w, PBS, ["13.hpc1"]), ["qhold -h o 13.hpc1"]),
    "release": (lambda w: job_ops.release(w, PBS, ["15.hpc1"]), ["qrls -h u 15.hpc1"]),
    "delete": (lambda w: job_ops.delete(w, PBS, ["13.hpc1", "14.hpc1"]), ["qdel 13.hpc1", "qdel 14.hpc1"]),
    "requeue": (lambda w: job_ops.requeue(w, PBS, ["11.hpc1"]), ["qrerun 11.hpc1"]),
    "move": (lambda w: job_ops.move(w, PBS, ["13.hpc1"], "gpu"), ["qmove gpu 13.hpc1"]),
    "priority": (lambda w: job_ops.set_job_priority(w, PBS, ["13.hpc1"], "-5"), ["qalter -p -5 13.hpc1"]),
    "offline": (
        lambda w: vnode_ops.offline(w, PBS, ["v1", "v2"]),
        [f"qmgr -c 'set node {name} state += offline'" for name in ("v1", "v2")],
    ),
    "clear": (lambda w: vnode_ops.clear(w, PBS, ["v3"]), ["qmgr -c 'set node v3 state -= offline'"]),
    "stop": (
        lambda w: queue_ops.switch_queues(w, PBS, ["workq"], "stop"),
        ["qmgr -c 'set queue workq started = False'"],
    ),
    "mode": (
        lambda w: queue_ops.set_mode(w, PBS, ["workq"], "observe"),
        ["qmgr -c 'set queue workq resources_available.pbsteer_mode = observe'"],
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_deed_runs_commands_that_could_be_typed_and_reads_back(name: str, audit: AuditLog) -> None:
    backend = ScriptedBackend()
    build, commands = OPERATIONS[name]
    outcomes = [make(backend, change, audit, lambda: NOON_S) for change in build(cluster()).changes]
    assert all(outcome.ok for outcome in outcomes), outcomes
    assert backend.lines == commands
    assert [entry["stage"] for entry in audit.entries()] == ["sending", "done"] * len(commands)


@pytest.mark.parametrize("name", ["hold", "move", "priority", "offline", "clear", "stop", "mode"])
def test_what_can_be_taken_back_is_as_it_was(name: str, audit: AuditLog) -> None:
    backend = ScriptedBackend()
    operation = OPERATIONS[name][0](cluster())
    for change in operation.changes:
        assert make(backend, change, audit, lambda: NOON_S).ok
    for change in operation.changes:
        undo = change.undo()
        assert undo is not None
        outcome = make(backend, undo, audit, lambda: NOON_S)
        assert outcome.ok, outcome.text
        assert change.readback.of(backend.read(change.target.kind, change.target.name)) == change.before


@pytest.mark.parametrize("name", ["delete", "requeue"])
def test_work_that_was_ended_is_not_brought_back(name: str) -> None:
    operation = OPERATIONS[name][0](cluster())
    assert operation.ends_work
    assert [change.undo() for change in operation.changes] == [None] * len(operation.changes)


def test_a_job_that_began_to_run_meanwhile_is_not_deleted_as_a_waiting_one(audit: AuditLog) -> None:
    backend = ScriptedBackend()
    (change,) = job_ops.delete(cluster(), PBS, ["13.hpc1"]).changes
    backend.set_job("13.hpc1", job_state="R", stime=str(int(NOON_S)))
    outcome = make(backend, change, audit, lambda: NOON_S)
    assert (outcome.ok, backend.lines) == (False, [])
    assert "queued when you looked, running since" in outcome.text


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda w: job_ops.hold(w, PBS, ["99.hpc1"]), "job '99.hpc1' is not on the server"),
        (lambda w: job_ops.hold(w, PBS, ["11.hpc1"]), "11 is running"),
        (lambda w: job_ops.hold(w, PBS, []), "which job"),
        (lambda w: job_ops.release(w, PBS, ["13.hpc1"]), "13 is not held"),
        (lambda w: job_ops.requeue(w, PBS, ["13.hpc1"]), "13 is not running"),
        (lambda w: job_ops.move(w, PBS, ["13.hpc1"], "nosuch"), "the server has gpu, workq"),
        (lambda w: job_ops.move(w, PBS, ["13.hpc1"], "workq"), "in workq already"),
        (lambda w: job_ops.set_job_priority(w, PBS, ["13.hpc1"], "4000"), "from -1024 to 1023"),
        (lambda w: vnode_ops.offline(w, PBS, ["v3"]), "v3 is offline already"),
        (lambda w: vnode_ops.offline(w, PBS, ["v9"]), "no vnode 'v9'"),
        (lambda w: queue_ops.switch_queues(w, PBS, ["workq"], "start"), "already"),
        (lambda w: queue_ops.set_mode(w, PBS, ["workq"], "full"), "observe, advise, drive"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(build: Callable[[ClusterView], Operation], says: str) -> None:
    with pytest.raises(ChangeError, match=says):
        build(cluster())


def test_it_is_foreseen_who_starts_on_the_cores_of_a_deleted_run() -> None:
    sentences = [
        effect.sentence for effect in preview_operation(cluster(), job_ops.delete(cluster(), PBS, ["11.hpc1"])).effects
    ]
    assert any("13 bob 8c" in sentence for sentence in sentences), sentences


@pytest.mark.parametrize(
    ("verb", "state", "then"),
    [
        (vnode_ops.offline, "free", "offline"),
        (vnode_ops.offline, "job-busy", "job-busy,offline"),
        (vnode_ops.clear, "offline", "free"),
        (vnode_ops.clear, "down,offline", "down"),
    ],
)
def test_a_vnode_keeps_the_rest_of_its_state(
    verb: Callable[[ClusterView, Commands, list[str]], Operation], state: str, then: str
) -> None:
    backend = ScriptedBackend()
    backend.set_vnode("v1", state=state)
    now = cluster(backend)
    assert verb(now, PBS, ["v1"]).edit(now.server_status).vnodes["v1"]["state"] == then


def test_it_is_foreseen_who_no_longer_starts_on_a_vnode_that_goes_offline() -> None:
    backend = ScriptedBackend()
    backend.set_vnode("v3", state="free")
    now = cluster(backend)
    sentences = [effect.sentence for effect in preview_operation(now, vnode_ops.offline(now, PBS, ["v3"])).effects]
    assert sentences, "v3 is the only one with idle cores for bob's job"


@pytest.mark.parametrize("name", OPERATIONS)
def test_commands_are_shown_to_the_letter_and_the_servers_name_recedes(name: str) -> None:
    make_operation, commands = OPERATIONS[name]
    lines = [line for line in operation_lines(make_operation(cluster()), cluster()) if plain(line) in commands]
    assert [plain(line) for line in lines] == commands
    if commands[0].endswith(".hpc1"):
        assert {line[-1] for line in lines} == {(".hpc1", "dim")}
