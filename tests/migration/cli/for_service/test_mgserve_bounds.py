"""What one cluster can make another one's mgserve do at once, and how long it may keep a process waiting."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from migration.cli.for_service import mgserve_ssh_forced_command as mgserve
from migration.protocol.messages import (
    Failed,
    Hand,
    Refused,
    from_line_bytes,
    reply_from_data,
    several_to_data,
    to_line_bytes,
)
from migration.target_job.job_process_lock_and_transfer_slots import take_slot
from policy.migration.job_record_and_copy_updates import Record

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
