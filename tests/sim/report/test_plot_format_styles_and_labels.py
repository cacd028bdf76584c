"""What pictures share: two kinds of file, refused before any work otherwise, and names that are only names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sim.report.plot_format_styles_and_labels import (
    PlotError,
    check_plot,
    colour_of,
    dashes_of,
    new_figure,
    plain,
    save,
)


@pytest.mark.parametrize("name", ["picture", "picture.pdf", "picture.svg.gz", ".svg"])
def test_an_unknown_ending_is_refused(name: str) -> None:
    with pytest.raises(PlotError, match=r"must end in \.svg or \.png"):
        check_plot(Path(name))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PlotError, match=r"no matplotlib .*install pbsteer's extra 'plots'"):
        check_plot(Path("picture.svg"))


def test_every_policy_has_a_style_and_the_first_28_differ() -> None:
    styles = [(colour_of(index), dashes_of(index)) for index in range(28)]
    assert len(set(styles)) == 28
    assert colour_of(10**6)


def test_names_are_shown_as_they_are() -> None:
    assert plain("a$b") == r"a\$b"
    assert plain("_hidden") == " _hidden"
    assert plain("\x1b[2J") == "?[2J"


def test_the_same_figure_makes_the_same_svg_each_time(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.svg" for number in (1, 2)]
    for file in files:
        figure = new_figure("waits", 4, 3)
        figure.add_subplot().plot([1, 2, 3], marker="o")
        save(figure, file)
    assert files[0].read_bytes() == files[1].read_bytes()
