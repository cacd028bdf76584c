"""Programs are run to their end within a bound, and what they said comes back whatever it was."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from container.run_program import run
from container.testbed_spec import TestbedError


def test_a_failing_programs_status_and_words_come_back() -> None:
    done = run([sys.executable, "-c", "import sys; print('out'); sys.exit('err')"], timeout_s=30.0)
    assert (done.status, done.stdout, done.stderr) == (1, "out\n", "err\n")
    with pytest.raises(TestbedError, match="status 1: err"):
        done.demand_success()


def test_an_argument_is_never_read_by_a_shell() -> None:
    argument = "$(id) 'a' ; \x1b[31m\n*"
    done = run([sys.executable, "-c", "import sys; sys.stdout.write(sys.argv[1])", argument], timeout_s=30.0)
    assert done.stdout == argument


def test_input_arrives_byte_for_byte() -> None:
    assert run(["cat"], timeout_s=30.0, stdin="é\x00\x1b😀").stdout == "é\x00\x1b😀"


def test_output_that_is_not_utf8_is_replaced() -> None:
    done = run([sys.executable, "-c", "import sys; sys.stdout.buffer.write(b'a\\xffb')"], timeout_s=30.0)
    assert done.stdout == "a\N{REPLACEMENT CHARACTER}b"


def test_the_environment_is_the_given_one_and_no_more() -> None:
    done = run(
        [sys.executable, "-I", "-c", "import os; print(sorted(os.environ))"], timeout_s=30.0, env={"LC_ALL": "C"}
    )
    assert done.stdout.strip() == "['LC_ALL']"


def test_a_program_that_leaves_a_daemon_behind_is_not_waited_for(tmp_path: Path) -> None:
    mark = tmp_path / "daemon"
    code = "import os, sys, time\npid = os.fork()\nopen(sys.argv[1], 'w').write(str(pid)) if pid else time.sleep(600)\n"
    run([sys.executable, "-c", code, str(mark)], timeout_s=30.0).demand_success()
    os.kill(int(mark.read_text()), 9)


def test_a_program_that_outstays_its_time_goes_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    with pytest.raises(TestbedError, match="did not end within"):
        run(["sh", "-c", 'sleep 600 & echo $! > "$0"; sleep 600', str(mark)], timeout_s=2.0)
    stat = Path(f"/proc/{mark.read_text().strip()}/stat")
    deadline = time.monotonic() + 60
    while stat.exists() and ") Z " not in stat.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(TestbedError, match="cannot run 'no-such-program'"):
        run(["no-such-program"], timeout_s=1.0)
