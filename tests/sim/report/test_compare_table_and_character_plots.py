"""The comparison in a terminal: it fits, says what happened to the jobs that matter, and steers nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.replay.job_records import Replay
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.report.compare_by_job_class import compare_jobs, wide_above
from sim.report.compare_table_and_character_plots import ASCII, UNICODE, Glyphs, to_text
from sim.report.time_span_given_or_most_preemptions import Span, busiest_day
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster, TraceJob, Workload
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

FOUR = Cluster(4, 1)


def shown(
    *replays: Replay, jobs: tuple[TraceJob, ...], span: Span | None = None, glyphs: Glyphs = UNICODE, columns: int = 80
) -> str:
    above = wide_above(jobs)
    return to_text(
        Workload("trace.swf", FOUR, jobs),
        FOUR,
        [compare_jobs(replay, above) for replay in replays],
        replays,
        wide_above_cores=above,
        span=span or busiest_day(replays),
        glyphs=glyphs,
        columns=columns,
    )


def test_each_of_two_policies_shows_the_life_of_a_job_that_was_cut() -> None:
    # easy   ..........##########
    # quota  ..###X..............########## over 80 s, a column a second
    job = a_job(1, 0, 10)
    easy = a_replay(ran(job, (10, 20)), policy="easy")
    quota = a_replay(ran(job, (2, 5), (20, 30)), policy="quota")
    text = shown(easy, quota, jobs=(job,), span=Span(0, 73), glyphs=ASCII)
    assert "easy   " + "." * 10 + "#" * 11 + "\n" in text
    assert "quota  " + ".." + "###X" + "." * 14 + "#" * 11 + "\n" in text
    assert "job 1, 1 core, 10 s, user alice" in text
    assert ". waits, # runs, X is cut" in text


def test_a_box_is_where_its_jobs_are() -> None:
    jobs = tuple(a_job(n, 0, 10) for n in range(20))
    replay = a_replay(*(ran(job, (600, 610)) for job in jobs), policy="easy", nodes=20)
    lines = shown(replay, jobs=jobs, glyphs=ASCII).splitlines()
    at = lines.index("wait: 5, 25, 50, 75 and 95 % of the jobs")
    assert lines[at + 1].split() == ["0", "1m"]
    assert lines[at + 2 : at + 4] == ["all", "easy" + " " * 75 + "O"]


def test_cores_in_use_go_from_none_to_all() -> None:
    job = a_job(1, 0, 37, cores=4)
    text = shown(a_replay(ran(job, (37, 74)), policy="easy"), jobs=(job,), glyphs=ASCII)
    assert "easy  " + "0" * 37 + "9" * 37 + "\n" in text


def test_a_job_that_a_policy_left_out_is_said_to_be_missing() -> None:
    small, large = a_job(1, 0, 10), a_job(2, 0, 10, cores=4)
    easy = a_replay(ran(small, (0, 10)), ran(large, (20, 30)), policy="easy")
    hard = a_replay(ran(small, (0, 10)), policy="hard")
    text = shown(hard, easy, jobs=(small, large, a_job(3), a_job(4)), glyphs=ASCII)
    assert "hard*  no such jobs\n" in text
    assert "hard*  never started\n" in text


def test_a_span_without_jobs_says_so() -> None:
    job = a_job(1, 0, 10)
    assert "jobs from 1 d to 2 d after the first submit: none" in shown(
        a_replay(ran(job, (0, 10))), jobs=(job,), span=Span(86400, 2 * 86400)
    )


def test_names_cannot_steer_the_terminal() -> None:
    job = a_job(1, 0, 10, user="\x1b[2J")
    assert "\x1b" not in shown(a_replay(ran(job, (0, 10)), policy="\x1b]0;"), jobs=(job,))


@given(seed=st.integers(0, 1000), jobs=st.integers(1, 60), columns=st.integers(20, 200))
def test_the_picture_keeps_to_its_columns_and_ascii_to_ascii(seed: int, jobs: int, columns: int) -> None:
    workload = generate(jobs, FOUR, 3, seed, 1.2)
    replays = [replay(workload, FOUR, resolve(name, workload, FOUR)) for name in ("easy", "quota")]
    pictures = [shown(*replays, jobs=workload.jobs, glyphs=glyphs, columns=columns) for glyphs in (UNICODE, ASCII)]
    assert pictures[1].isascii()
    for text in pictures:
        lines = text.splitlines()
        server_status = lines[next(n for n, line in enumerate(lines) if line.startswith("wait: ")) :]
        assert max(map(len, server_status)) <= max(columns, 84)
        assert not any(line.endswith(" ") for line in lines)


@pytest.mark.parametrize("run_s", [0, 1])
def test_one_job_of_no_length_can_be_shown(run_s: int) -> None:
    job = a_job(1, 0, run_s)
    assert "easy" in shown(a_replay(ran(job, (0, run_s))), jobs=(job,))
