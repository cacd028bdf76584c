"""What is written to the terminal: the changed cells alone, and strange bytes from it are no end."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate
from textual.drivers import linux_driver
from textual.strip import Strip

from policy import Ledger, Settings
from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend, a_server_status
from tui.pages.header_line import Header, header_line
from tui.screen.terminal.repaint_changed_cells import NarrowUpdate, narrowed
from tui.state.cluster_view import see
from tui.text.screen_line import plain


def an_update(*spans: tuple[int, int, int]) -> ChopsUpdate:
    return ChopsUpdate([{0: Strip([Segment("abcdef")]), 6: Strip([Segment("ghij")])}], list(spans), [[6, 10]])


def test_only_the_cells_of_a_changed_part_are_written() -> None:
    narrow = narrowed(an_update((0, 2, 4)))
    assert isinstance(narrow, NarrowUpdate)
    written = narrow.render_segments(Console())
    assert "cd" in written
    assert not set("abefghij") & set(written.replace("\x1b[1;3H", ""))
    assert written.startswith("\x1b[1;3H")


def test_a_part_over_two_widgets_is_written_in_both() -> None:
    written = narrowed(an_update((0, 5, 7))).render_segments(Console())  # type: ignore[union-attr]
    assert written == "\x1b[1;6Hf\x1b[1;7Hg"


def test_what_is_no_part_stays_as_it_is() -> None:
    assert narrowed(None) is None
    assert narrowed("text") == "text"


def test_an_age_that_grows_moves_nothing_but_itself() -> None:
    cluster = see(a_server_status(), Settings(), Ledger(), 0.31)
    lines = [plain(header_line(Header("hpc1", cluster, 0.0, age, 0.0), 120)) for age in (9.0, 10.0, 100.0)]
    assert len({line.index("READ-ONLY") for line in lines}) == 1
    assert {len(line) for line in lines} == {120}


async def test_bytes_that_are_no_utf_8_are_keys_like_others(tmp_path: Path) -> None:
    async with open_console(ScriptedBackend(), tmp_path / "audit"):
        decode = vars(linux_driver)["getincrementaldecoder"]("utf-8")().decode
    assert decode(b"a\xabb", final=False) == "a\N{REPLACEMENT CHARACTER}b"
