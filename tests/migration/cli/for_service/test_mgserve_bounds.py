"""What one cluster can make another one's mgserve do at once, and how long it may keep a process waiting."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migration.cli.for_service import mgserve_ssh_forced_command as mgserve
from migration.passes.early_pass import TARGET, call_file
from migration.protocol.message_lines_and_fields import from_line_bytes, to_line_bytes
from migration.protocol.questions import Hand, several_to_data
from migration.protocol.replies import Failed, Refused, Reply, State, Taken, Unknown, reply_from_data
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease, take_slot
from policy.migration.available_to_other_clusters import Answer
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.target_job.fake_target import FakeTarget

REPO = Path(__file__).parents[4]
WITHDRAW = b'{"v": 1, "gid": "b.1", "attempt": 1}\n'


def serve(home: Path, before: str = "pass", verb: str = "withdraw") -> subprocess.Popen[bytes]:
    imports = "import sys; from migration.cli.for_service import mgserve_ssh_forced_command as mgserve"
    program = f"{imports}; {before}; mgserve.main()"
    env = {**os.environ, "MG_HOME": str(home), "SSH_ORIGINAL_COMMAND": f"mg {verb}"}
    return subprocess.Popen(
        [sys.executable, "-c", program, "b"], cwd=REPO, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n'
        '[[cluster]]\nname = "b"\nssh = "mg@b"\n[[cluster]]\nname = "c"\nssh = "mg@c"\n'
    )
    return tmp_path


def test_a_cluster_has_so_many_questions_at_once_and_the_rest_is_told_to_ask_again(home: Path) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(mgserve._MOST_AT_ONCE):
            assert stack.enter_context(take_slot(home, "serving.b", mgserve._MOST_AT_ONCE))
        with serve(home) as asked:
            out = asked.communicate(WITHDRAW, timeout=60)[0]
        reply = reply_from_data(from_line_bytes(out), 0)
        assert reply == Failed("busy with 8 questions of cluster b: ask again later")
    with serve(home) as asked:
        assert b"busy" not in asked.communicate(WITHDRAW, timeout=60)[0]


def test_a_question_that_does_not_come_is_not_waited_for(home: Path) -> None:
    with serve(home, "mgserve._READ_WITHIN_S = 1") as asked:
        assert asked.wait(timeout=60) == -signal.SIGALRM


def test_several_questions_are_answered_one_after_the_other_each_for_itself(home: Path) -> None:
    offer = Hand(Record(gid="c.1", src="c", dst="a", state="Offered")).to_data(0)
    offers = [b"garbage\n", to_line_bytes(several_to_data("accept", offer))]
    with serve(home, verb="several") as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        for line, problem in zip(offers * 2, ("JSON", "not a job of cluster b") * 2):
            asked.stdin.write(line)
            asked.stdin.flush()
            reply = reply_from_data(from_line_bytes(asked.stdout.readline()), 0)
            assert isinstance(reply, (Failed, Refused))
            assert problem in reply.text
        asked.stdin.close()
        assert asked.wait(timeout=60) == 0


@pytest.mark.parametrize("before", ["mgserve._READ_WITHIN_S = 1", "mgserve._NEXT_WITHIN_S = 1"])
def test_a_next_question_that_does_not_come_is_not_waited_for(home: Path, before: str) -> None:
    with serve(home, before, verb="several") as asked:
        assert asked.stdin is not None
        if "NEXT" in before:
            asked.stdin.write(b"{}\n")
            asked.stdin.flush()
        assert asked.wait(timeout=60) == -signal.SIGALRM


def ask(asked: subprocess.Popen[bytes], verb: str, body: dict[str, object] | None) -> Reply | None:
    """The reply to one of several questions; None where the connection has ended."""
    assert asked.stdin is not None
    assert asked.stdout is not None
    asked.stdin.write(to_line_bytes(several_to_data(verb, body)))
    asked.stdin.flush()
    line = asked.stdout.readline()
    return reply_from_data(from_line_bytes(line), 0) if line else None


ABOUT: dict[str, object] = {"v": 1, "gid": "b.1", "attempt": 1}


@pytest.mark.parametrize(
    "change", [('name = "b"', 'name = "d"'), ('ssh = "mg@b"', f'ssh = "mg@b"\nkey = "ssh-ed25519 {"A" * 68}"')]
)
def test_a_cluster_that_is_removed_or_has_another_key_is_refused_on_an_open_connection(
    home: Path, change: tuple[str, str]
) -> None:
    with serve(home, verb="several") as asked:
        assert isinstance(ask(asked, "stop", ABOUT), Unknown)
        text = (home / "cluster.toml").read_text()
        assert change[0] in text
        (home / "new").write_text(text.replace(*change))
        (home / "new").replace(home / "cluster.toml")
        assert ask(asked, "stop", ABOUT) == Failed("cluster b may not ask here any more: cluster.toml has changed")
        assert asked.wait(timeout=60) == 0


def test_a_pause_in_the_cluster_file_holds_for_the_next_question_of_an_open_connection(home: Path) -> None:
    before = "from tests.migration.cli.for_service.free_for_tests import give_scheduler; give_scheduler(mgserve)"
    with serve(home, before, verb="several") as asked:
        first = ask(asked, "avail", None)
        assert isinstance(first, Answer)
        assert (first.paused, first.avail) == (False, 8)
        with (home / "cluster.toml").open("a") as file:
            file.write('[here]\npause_taking_from = ["b"]\n')
        paused = ask(asked, "avail", None)
        assert isinstance(paused, Answer)
        assert (paused.paused, paused.avail) == (True, 0)


def test_a_cluster_that_is_in_no_file_is_answered_nothing(home: Path) -> None:
    text = (home / "cluster.toml").read_text()
    (home / "cluster.toml").write_text(text.replace('name = "b"', 'name = "d"'))
    with serve(home) as asked:
        reply = reply_from_data(from_line_bytes(asked.communicate(WITHDRAW, timeout=60)[0]), 0)
    assert isinstance(reply, Failed)
    assert "may not ask here" in reply.text


def test_a_connection_ends_after_its_time_however_much_is_asked(home: Path) -> None:
    with serve(home, "mgserve._OPEN_FOR_S = 3.0", verb="several") as asked:
        assert isinstance(ask(asked, "stop", ABOUT), Unknown)
        deadline = time.monotonic() + 60
        with contextlib.suppress(BrokenPipeError):
            while ask(asked, "stop", ABOUT) is not None:
                assert time.monotonic() < deadline
                time.sleep(0.2)
        assert asked.wait(timeout=60) in (0, -signal.SIGALRM)
        assert asked.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            asked.stdin.close()


def test_an_accepted_job_calls_for_a_pass_once_its_answer_is_sent_and_one_under_way_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = FakeTarget(tmp_path)
    for state, is_called in (("Uploading", False), ("Waiting", True)):
        reply = Taken(Record(gid="a.1", src="a", dst="b", state=state), "key")
        monkeypatch.setattr(mgserve, "serve", lambda *_, reply=reply: reply)
        answers = mgserve._answer(target.site, "a", "accept", b"")
        assert next(answers) == reply
        assert not call_file(tmp_path, TARGET).exists()
        assert next(answers, None) is None
        assert call_file(tmp_path, TARGET).exists() == is_called


@pytest.mark.parametrize(("state", "leased", "is_called"), [("Uploading", False, True), ("Uploading", True, False)])
def test_a_stop_calls_for_a_pass_where_no_process_has_the_job_and_starts_none(
    home: Path, state: str, leased: bool, is_called: bool
) -> None:
    spool = Spool(home)
    with spool.change() as change:
        change.put(Queue.RECEIVED, Record(gid="b.1", src="b", dst="a", state=state, attempt=1))
    no_start = "import subprocess; subprocess.Popen = None"
    with hold_lease(spool.job_folder("b.1")) if leased else contextlib.nullcontext():
        for _ in range(2):
            with serve(home, no_start, verb="stop") as asked:
                reply = reply_from_data(from_line_bytes(asked.communicate(to_line_bytes(ABOUT), timeout=60)[0]), 0)
            assert isinstance(reply, State)
            assert (reply.record.state, reply.record.stop) == (state, "stop")
    assert call_file(home, TARGET).exists() == is_called
