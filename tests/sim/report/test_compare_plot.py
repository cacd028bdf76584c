"""The comparison as a picture: every run is a bar in its policy's panel, every cut an edge, names are only names."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sim.replay.job_records import Replay
from sim.report.compare_by_job_class import compare_jobs
from sim.report.compare_plot import plot_comparison
from sim.report.time_span_given_or_most_preemptions import Span
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")

SVG = "{http://www.w3.org/2000/svg}"
SPAN = Span(0, 10_000)


def draw(path: Path, *replays: Replay, span: Span = SPAN) -> str:
    plot_comparison(path, "trace on 4x1", [compare_jobs(replay, 1) for replay in replays], replays, span)
    return path.read_text("utf-8")


def many(policy: str, count: int) -> Replay:
    return a_replay(*(ran(a_job(n, n * 60), (n * 60, n * 60 + 100)) for n in range(1, count)), policy=policy)


def shapes(svg: str, start: str) -> int:
    return sum(element.get("id", "").startswith(start) for element in ET.fromstring(svg).iter())  # noqa: S314


def bars_of(svg: str) -> list[str]:
    (panel,) = [e for e in ET.fromstring(svg).iter() if e.get("id", "").startswith("PolyCollection")]  # noqa: S314
    return [path.get("d", "") for path in panel.iter(f"{SVG}path")]


def test_a_run_more_is_a_bar_more(tmp_path: Path) -> None:
    few, more = draw(tmp_path / "few.svg", many("easy", 20)), draw(tmp_path / "more.svg", many("easy", 21))
    assert len(bars_of(more)) == len(bars_of(few)) + 1 == 20


def test_a_cut_has_a_red_edge(tmp_path: Path) -> None:
    whole = a_replay(ran(a_job(1), (0, 100)), policy="easy")
    cut = a_replay(ran(a_job(1), (0, 50), (200, 300)), policy="quota")
    assert "#b00020" not in draw(tmp_path / "whole.svg", whole)
    assert draw(tmp_path / "cut.svg", whole, cut).count("#b00020") == 1


def test_each_policy_has_a_panel(tmp_path: Path) -> None:
    one, two = draw(tmp_path / "one.svg", many("a", 5)), draw(tmp_path / "two.svg", many("a", 5), many("b", 5))
    assert shapes(two, "axes_") == shapes(one, "axes_") + 1


def test_very_many_bars_are_one_image(tmp_path: Path) -> None:
    svg = draw(tmp_path / "many.svg", many("easy", 1700), span=Span(0, 200_000))
    assert "<image" in svg
    assert len(svg) < 1_000_000


def test_a_png_is_a_png(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    plot_comparison(path, "trace", [compare_jobs(many("easy", 5), 1)], [many("easy", 5)], SPAN)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_names_are_data_and_a_class_may_be_missing(tmp_path: Path) -> None:
    hostile = a_replay(ran(a_job(run_s=0), (0, 0)), policy="_$\\frac{</svg>$ &\x1b[2J")
    other = a_replay(ran(a_job(2, run_s=7200, cores=4), (0, 7200)), policy="easy")
    assert ET.fromstring(draw(tmp_path / "a.svg", hostile, other)).tag.endswith("svg")  # noqa: S314


def test_a_span_without_runs_is_an_empty_panel(tmp_path: Path) -> None:
    assert "<svg" in draw(tmp_path / "a.svg", many("easy", 5), span=Span(50_000, 60_000))
