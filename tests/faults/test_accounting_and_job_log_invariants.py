"""The books notice what they are there to notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.accounting_and_job_log_invariants import Books, Life, Spell, find_losses, find_overlaps, read_spells

PLACE = "exec_vnode=(m1:ncpus=5)"
SECOND = "Q;2.s;user=bob", f"S;2.s;user=bob {PLACE}"


def read_books(folder: Path, *records: str) -> Books:
    text = "".join(f"11/21/2026 02:46:07;{record}\n" for record in records)
    (folder / "20261121").write_text(text, encoding="utf-8")
    books = Books(folder, {"m1": 8, "m2": 8})
    books.expect("1.s", "alice")
    books.read()
    return books


def spell(job: str, host: str, begin_s: float, end_s: float, counted: int = 0, *, whole: bool = False) -> Spell:
    return Spell(job, host, begin_s, end_s, counted, whole)


def test_a_life_from_submission_over_a_requeue_to_its_end(tmp_path: Path) -> None:
    start, rerun = f"S;1.s;user=alice {PLACE}", f"R;1.s;user=alice {PLACE}"
    books = read_books(tmp_path, "Q;1.s;user=alice", start, rerun, start, f"E;1.s;user=alice {PLACE} Exit_status=0")
    assert books.violations == []
    assert books.lives["1.s"]._replace(start_s=0.0) == Life("alice", None, 0, starts=2, reruns=1)
    assert books.unfinished() == []


def test_a_job_whose_end_pbs_forgot_is_settled_once_and_gives_its_cores_back(tmp_path: Path) -> None:
    start = f"S;1.s;user=alice {PLACE}"
    books = read_books(tmp_path, start)
    books.settle("1.s")
    assert books.unfinished() == []
    with (tmp_path / "20261121").open("a", encoding="utf-8") as log:
        log.writelines(
            f"11/21/2026 02:49:07;{record}\n" for record in (f"E;1.s;user=alice {PLACE} Exit_status=271", *SECOND)
        )
    books.read()
    assert (books.violations, books.crowds) == ([], [])
    done = [spell("1.s", "m1", 0.0, 9.0, 7, whole=True)]
    assert find_losses({"1.s": books.lives["1.s"]}, {"1.s": 7}, done, deleted=books.excused) == []


def test_a_deleted_job_may_end_in_any_way_but_not_come_back(tmp_path: Path) -> None:
    start, end = f"S;1.s;user=alice {PLACE}", f"E;1.s;user=alice {PLACE} Exit_status=85"
    books = read_books(tmp_path, start)
    books.expect_deletion("1.s")
    assert books.unfinished() == ["1.s"]
    write(tmp_path, end)
    books.read()
    assert find_losses(books.lives, {"1.s": 9}, []) == ["1.s of alice ended with status 85"]
    assert find_losses(books.lives, {"1.s": 9}, [], deleted=books.deleted) == books.violations == []
    write(tmp_path, start)
    books.read()
    assert "1.s was started after it was deleted" in books.violations[0]


def test_a_job_that_was_deleted_as_it_waited_has_ended(tmp_path: Path) -> None:
    books = read_books(tmp_path, f"S;1.s;user=alice {PLACE}", f"R;1.s;user=alice {PLACE}")
    books.expect_deletion("1.s")
    assert books.unfinished() == []
    write(tmp_path, f"S;1.s;user=alice {PLACE}")
    books.read()
    assert "1.s was started after it was deleted" in books.violations[0]


def write(folder: Path, record: str) -> None:
    with (folder / "20261121").open("a", encoding="utf-8") as log:
        log.write(f"11/21/2026 02:46:08;{record}\n")


def test_a_line_that_is_not_whole_yet_is_read_when_it_is(tmp_path: Path) -> None:
    books = read_books(tmp_path, "Q;1.s;user=alice")
    with (tmp_path / "20261121").open("a") as log:
        log.write(f"11/21/2026 02:46:09;S;1.s;user=alice {PLACE[:9]}")
        log.flush()
        books.read()
        log.write(f"{PLACE[9:]}\n")
    books.read()
    assert books.lives["1.s"].starts == 1


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([f"S;1.s;user=alice {PLACE}", "S;1.s;user=alice exec_vnode=(m2:ncpus=5)"], "while it ran elsewhere"),
        ([f"E;1.s;user=alice {PLACE} Exit_status=0", f"S;1.s;user=alice {PLACE}"], "after its end"),
    ],
)
def test_what_must_not_be_is_a_violation(tmp_path: Path, records: list[str], words: str) -> None:
    (violation,) = read_books(tmp_path, *records).violations
    assert words in violation


def test_an_end_that_a_server_tells_again_is_none(tmp_path: Path) -> None:
    end = f"E;1.s;user=alice {PLACE} Exit_status=0"
    assert read_books(tmp_path, f"S;1.s;user=alice {PLACE}", end, end).violations == []


def test_a_vnode_with_more_in_use_than_it_has_is_a_crowd(tmp_path: Path) -> None:
    (crowd,) = read_books(tmp_path, f"S;1.s;user=alice {PLACE}", *SECOND).crowds
    assert (crowd.vnode, crowd.jobs) == ("m1", {"1.s": 5, "2.s": 5})


def test_a_crowd_keeps_when_each_run_had_begun_whatever_comes_later(tmp_path: Path) -> None:
    start = f"S;1.s;user=alice {PLACE}"
    books = read_books(tmp_path, start, *SECOND)
    write(tmp_path, f"R;1.s;user=alice {PLACE}")
    write(tmp_path, start)
    books.read()
    earlier, later = books.crowds
    assert later.starts_s["1.s"] - earlier.starts_s["1.s"] == 1
    assert earlier.starts_s["1.s"] == earlier.starts_s["2.s"]


def test_a_start_that_a_server_tells_again_after_it_was_away_is_none(tmp_path: Path) -> None:
    start = f"S;1.s;user=alice {PLACE}"
    books = read_books(tmp_path, start, start)
    assert (books.violations, books.lives["1.s"].starts) == ([], 1)


@pytest.mark.parametrize(
    ("life", "spells", "words"),
    [
        (Life("alice"), [], "has not ended"),
        (Life("alice", ended=271), [], "ended with status 271"),
        (Life("alice", ended=0), [spell("1.s", "m1", 1.0, 2.0, 3)], "its program did not come to its end"),
        (Life("alice", ended=0), [spell("1.s", "m1", 1.0, 2.0, 2, whole=True)], "counted to 2, not to 3"),
    ],
)
def test_a_job_without_its_work_done_is_a_loss(life: Life, spells: list[Spell], words: str) -> None:
    (loss,) = find_losses({"1.s": life}, {"1.s": 3}, spells)
    assert words in loss


def test_a_job_that_ended_with_its_work_done_is_none() -> None:
    spells = [spell("1.s", "m1", 1.0, 2.0, 1), spell("1.s", "m1", 3.0, 6.0, 3, whole=True)]
    assert find_losses({"1.s": Life("alice", ended=0)}, {"1.s": 3}, spells) == []


def test_programs_that_ran_twice_at_once_or_on_too_many_cores_are_found() -> None:
    twice = [spell("1.s", "m1", 1.0, 5.0), spell("1.s", "m2", 4.0, 6.0)]
    assert find_overlaps(twice, {"1.s": 1}, {"m1": 8, "m2": 8}) == ["1.s ran twice at once, on m1 and m2"]
    crowd = [spell("1.s", "m1", 1.0, 5.0), spell("2.s", "m1", 5.0, 6.0), spell("3.s", "m1", 5.5, 7.0)]
    (found,) = find_overlaps(crowd, {"1.s": 5, "2.s": 5, "3.s": 5}, {"m1": 8})
    assert found == "m1 had 10 cores in use, of 8, with 3.s"


def test_a_diary_is_read_run_by_run(tmp_path: Path) -> None:
    (tmp_path / "1.s").mkdir()
    log = "begin 1.0 m1 7\n1 2.0 m1 7\nbegin 4.0 m2 7\n1 5.0 m2 7\n2 6.0 m2 7\ndone 6.1 m2 7\n"
    (tmp_path / "1.s" / "log").write_text(log)
    assert list(read_spells(tmp_path)) == [
        Spell("1.s", "m1", 1.0, 2.0, 1, False),
        Spell("1.s", "m2", 4.0, 6.1, 2, True),
    ]
