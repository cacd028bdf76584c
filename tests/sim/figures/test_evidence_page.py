"""The page of figures: made from traces in a folder, by replays that are kept, into the marked block alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.figures import evidence_page
from sim.figures.evidence_page import BEGIN, END, POLICIES, evidence
from sim.figures.evidence_replays import KeptReplays, program_sha256
from sim.figures.evidence_traces import TRACES, EvidenceTrace, sha256_of
from sim.replay.metrics import measure
from sim.replay.named_policies import NAMES, resolve
from sim.replay.replay import replay
from sim.workload.workload import Cluster, Workload
from tests.sim.call_command import Invoked
from tests.sim.small_jobs_and_replays import a_job, swf_record, swf_text

INVOKED = Invoked(evidence)
SMALL = EvidenceTrace("small.swf", "a small trace", "https://example.org/small")
ABSENT = EvidenceTrace("absent.swf", "another", "https://example.org/absent")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one of two known traces, and a page."""
    monkeypatch.setattr(evidence_page, "TRACES", (SMALL, ABSENT))
    records = []
    for day in range(70):
        start = 86_400 * day
        records += [
            swf_record(10 * day + 1, start, run=20_000, requested=3, estimate=20_000, user="long"),
            swf_record(10 * day + 2, start + 10, run=20_000, requested=4, estimate=20_000, user="wide"),
            *(swf_record(10 * day + 3 + job, start + 20, run=300, requested=1, estimate=9000) for job in range(5)),
        ]
    (tmp_path / SMALL.file).write_text(swf_text(*records, nodes=4, procs=4))
    (tmp_path / "page.md").write_text(f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    return tmp_path


def test_the_block_is_replaced_and_nothing_else(folder: Path) -> None:
    page = folder / "page.md"
    output = INVOKED.run(folder, "--page", page).stderr
    text = page.read_text()
    assert text.startswith(f"# Before\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\nAfter.\n")
    assert "old" not in text
    assert "absent.swf: not there; get it from https://example.org/absent" in output
    assert "these figures are not of: absent.swf." in text
    assert text.count("### ") == 1
    for policy in POLICIES:
        assert text.count(f"| `{policy}` |") == 3
    first = page.read_text()
    INVOKED.run(folder, "--page", page)
    assert page.read_text() == first


def test_the_published_figures_of_a_trace_that_is_not_there_stay(folder: Path) -> None:
    page = folder / "page.md"
    part = "### absent.swf\n\nanother\n\n| `easy` | 1.00 |\n"
    page.write_text(f"{BEGIN}\n\n### small.swf\n\nold\n\n{part}\n{evidence_page._ABSENT} x.swf.\n\n{END}\n")
    output = INVOKED.run(folder, "--page", page).stderr
    text = page.read_text()
    assert "absent.swf: not there; its figures stay as they are; get it from https://example.org/absent" in output
    assert part in text
    assert "old" not in text
    assert text.count("### ") == 2
    assert text.index("### small.swf") < text.index("### absent.swf")
    INVOKED.run(folder, "--page", page)
    assert page.read_text() == text


def test_kept_replays_are_used_again_and_a_run_can_stop_and_go_on(folder: Path) -> None:
    page = folder / "page.md"
    first = INVOKED.run(folder, "--page", page, "--most", 1).stderr
    assert [line for line in first.splitlines() if line.startswith("small.swf: ")] == ["small.swf: easy"]
    assert "Not replayed." in page.read_text()
    second = INVOKED.run(folder, "--page", page, "--most", 2).stderr.splitlines()
    assert [line for line in second if line.startswith("small.swf: ")] == [
        f"small.swf: {name}" for name in POLICIES[1:3]
    ]
    assert f"Not replayed: {', '.join(POLICIES[3:])}." in page.read_text()


def test_a_kept_replay_has_the_same_figures_and_counts_only_for_its_trace_and_program(tmp_path: Path) -> None:
    jobs = tuple(a_job(number, 10 * number, 5000, cores=1 + number % 3) for number in range(40))
    workload, cluster = Workload("t", None, jobs), Cluster(4, 1)
    path = tmp_path / "t.swf"
    path.write_text("one")
    kept = KeptReplays(tmp_path / "kept", SMALL, path)
    assert kept.find("checkpoint-sjbf", workload, cluster) is None
    made = measure(kept.make("checkpoint-sjbf", workload, cluster))
    found = kept.find("checkpoint-sjbf", workload, cluster)
    assert found is not None
    assert measure(found) == made
    fresh = replay(workload, cluster, resolve("checkpoint-sjbf", workload, cluster))
    assert measure(found).mean_bounded_slowdown == measure(fresh).mean_bounded_slowdown
    path.write_text("another trace")
    assert KeptReplays(tmp_path / "kept", SMALL, path).find("checkpoint-sjbf", workload, cluster) is None


def test_a_page_without_marks_and_a_folder_without_traces_are_refused(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "other.md"
    page.write_text("no marks\n")
    assert f"--page {page}: must have the lines {BEGIN}" in INVOKED.refused(folder, "--page", page)
    (folder / SMALL.file).unlink()
    result = INVOKED.run(folder, "--page", folder / "page.md")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {folder}: has none of these traces"
    assert "old" in (folder / "page.md").read_text()


def test_another_file_than_the_published_one_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "t.swf"
    path.write_text("text")
    same = SMALL._replace(sha256=sha256_of(path))
    assert same.problem(path) is None
    assert "its figures may differ" in str(SMALL._replace(sha256="0" * 64).problem(path))
    assert len(program_sha256()) == 64


def test_the_list_of_traces_and_policies_is_usable() -> None:
    assert len({trace.file for trace in TRACES}) == len(TRACES) >= 4
    assert all(trace.page.startswith("https://") for trace in TRACES)
    assert set(POLICIES) <= set(NAMES)
