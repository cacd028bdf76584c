"""Pictures of replays: they are of the kind that the ending says, whatever the names in them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sim.replay.job_records import Replay
from sim.report.wait_slowdown_usage_plots import plot
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def replays() -> list[Replay]:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    fast = a_replay(*(ran(a_job(n, n * 60, n), (n * 60, n * 61)) for n in range(1, 50)), policy="fast")
    slow = a_replay(*(ran(a_job(n, n * 60, n), (n * 99, n * 100)) for n in range(1, 50)), policy="slow")
    return [fast, slow]


def drawn_lines(path: Path) -> int:
    return sum(element.get("id", "").startswith("line2d") for element in ET.parse(path).iter(f"{SVG}g"))  # noqa: S314


def test_an_svg_has_lines_for_every_policy(tmp_path: Path, replays: list[Replay]) -> None:
    one, two = tmp_path / "one.svg", tmp_path / "two.SVG"
    plot(one, "trace", replays[:1])
    plot(two, "trace", replays)
    # Three panels and the legend: a second policy adds four lines, besides what the axes may add.
    assert drawn_lines(two) >= drawn_lines(one) + 4


def test_a_png_is_a_png(tmp_path: Path, replays: list[Replay]) -> None:
    path = tmp_path / "picture.png"
    plot(path, "trace", replays)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_names_are_data(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    path = tmp_path / "picture.svg"
    hostile = a_replay(ran(a_job(), (0, 100)), policy="_$\\frac{</svg>$ &\x1b[2J")
    plot(path, "$x_{$ <script>", [hostile])
    assert ET.parse(path).getroot().tag == f"{SVG}svg"  # noqa: S314


def test_one_job_of_no_length_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra 'plots' is not installed")
    plot(tmp_path / "picture.svg", "trace", [a_replay(ran(a_job(run_s=0), (0, 0)))])
    assert (tmp_path / "picture.svg").stat().st_size
