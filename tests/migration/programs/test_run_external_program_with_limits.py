"""An external program gets its input, is bounded in time and output, and leaves no process behind."""

import time
from pathlib import Path

import pytest

from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, TOO_MUCH, run, run_with_lifeline


def test_input_output_and_status() -> None:
    done = run(["/bin/sh", "-c", "cat; echo wrong >&2; exit 3"], stdin=b"in\xff\n")
    assert (done.status, done.out, done.err) == (3, b"in\xff\n", b"wrong\n")
    assert done.text == "in\udcff\n"
    assert done.problem == "wrong"


def test_arguments_arrive_as_they_are() -> None:
    words = ["a b", "", "-x", "*", "$HOME", "é\udcff", "new\nline", "'\"`;|"]
    assert run(["printf", "%s|", *words]).text == "".join(f"{word}|" for word in words)


def test_a_program_that_takes_too_long_is_killed_even_if_it_ignores_signals() -> None:
    began = time.monotonic()
    done = run(["/bin/sh", "-c", "trap '' TERM; echo begun; exec sleep 60"], timeout_s=1)
    assert (done.status, done.out) == (TIMED_OUT, b"begun\n")
    assert time.monotonic() - began < 30
    assert done.problem == "killed after 1 s"


def test_what_cannot_be_started_says_so() -> None:
    assert run(["no-such-program-here"]).status == NOT_STARTED
    assert run(["no-such-program-here"]).problem == "no-such-program-here: not found"
    assert run(["true", "a\0b"]).problem == "an argument contains a NUL"
    assert run(["true"], cwd="/no/such/folder").problem == "/no/such/folder: no such folder"


def test_a_signal_is_a_negative_status() -> None:
    assert run(["/bin/sh", "-c", "kill -9 $$"]).status == -9


def test_environment_and_folder() -> None:
    assert run(["/usr/bin/env"], env={"A": "b c"}).text == "A=b c\n"
    assert run(["pwd"], cwd="/").text == "/\n"


def test_another_user_is_refused() -> None:
    with pytest.raises(ValueError, match="its own user only"):
        run(["true"], user="root")


def test_a_problem_has_no_control_characters() -> None:
    assert run(["/bin/sh", "-c", "printf '\\033[2Jx' >&2; exit 1"]).problem == "?[2Jx"
    assert run(["false"]).problem == "exit status 1"


def test_a_grandchild_that_keeps_the_output_open_delays_nothing() -> None:
    began = time.monotonic()
    assert run(["/bin/sh", "-c", "sleep 60 & echo done"]).text == "done\n"
    assert time.monotonic() - began < 30


def test_what_a_late_program_has_started_is_killed_too(tmp_path: Path) -> None:
    run(["/bin/sh", "-c", f"(sleep 3; touch {tmp_path}/alive) & sleep 60"], timeout_s=0.5)
    time.sleep(4)
    assert not (tmp_path / "alive").exists()


def test_a_stopped_reader_of_the_input_costs_no_more_than_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("migration.programs.run_external_program_with_limits._END_WITHIN_S", 1)
    began = time.monotonic()
    done = run_with_lifeline(["/bin/sh", "-c", "echo begun; kill -STOP $$"], stdin=bytes(1 << 20), timeout_s=1)
    assert (done.status, done.out) == (TIMED_OUT, b"begun\n")
    assert time.monotonic() - began < 15


def test_a_program_that_ends_while_a_stopped_child_has_its_input_is_over() -> None:
    began = time.monotonic()
    program = ["/bin/sh", "-c", "sleep 20 0<&3 & exit 4"]
    done = run_with_lifeline(
        ["/bin/sh", "-c", 'exec 3<&0; exec "$@"', "sh", *program], stdin=bytes(1 << 20), timeout_s=30
    )
    assert done.status == 4
    assert time.monotonic() - began < 15


def test_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("migration.programs.run_external_program_with_limits.MOST_OUTPUT", 100_000)
    monkeypatch.setattr("migration.programs.run_external_program_with_limits._END_WITHIN_S", 1)
    endless = ["yes"]
    for done in (run(endless, timeout_s=30), run_with_lifeline(endless, timeout_s=30)):
        assert done.status == TOO_MUCH
        assert len(done.out) == 100_000
        assert "MiB of output" in done.problem


def test_input_larger_than_a_pipe_arrives_whole() -> None:
    assert run_with_lifeline(["head", "-c", "300000"], stdin=b"x" * 300_000, timeout_s=30).out == b"x" * 300_000
