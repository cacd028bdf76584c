"""What identifies a row is seen whole where the screen has room, and told apart where it has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import Steered, open_console
from tests.tui.scripted_server import ScriptedBackend, a_job, a_server_status, a_vnode, changed, many_jobs, running

NAMES = [f"pbst-11625-mom{number}" for number in (1, 2, 3)]
USER, QUEUE, PROJECT = "firstname.lastname", "interactive_lng", "materials-science-2026"
ARRAY = "123456789012[].hpc1"


@pytest.fixture
def backend() -> ScriptedBackend:
    server_status = a_server_status()
    queue = {**server_status.queues["workq"], "max_run_res_soft.ncpus": f"[u:{USER}=4]"}
    jobs = {
        ARRAY: a_job(USER, 4, queue=QUEUE, project=PROJECT, array="True", array_indices_remaining="0-9"),
        "1234568.hpc1": running(USER, 2, NAMES[0], queue=QUEUE, project=PROJECT),
    }
    vnodes = {name: a_vnode(1_000_000, 123_456) for name in NAMES}
    return ScriptedBackend(
        changed(server_status, vnodes=vnodes, queues={QUEUE: queue, "interactive_ln2": {}}, jobs=jobs)
    )


def beginnings(steered: Steered, cells: int, *lines: int) -> list[str]:
    return [steered.screen_lines[number][:cells] for number in lines]


@pytest.mark.parametrize(
    ("key", "texts"),
    [
        ("1", [USER, QUEUE, "interactive_ln2"]),
        ("2", [QUEUE, "interactive_ln2"]),
        ("3", [*NAMES, "123,456", "1,000,000"]),
        ("4", NAMES[:1]),
        ("5", ["123456789012[]", USER, QUEUE]),
        ("6", [USER]),
    ],
)
async def test_names_are_whole_on_a_usual_screen(
    backend: ScriptedBackend, audit: Path, key: str, texts: list[str]
) -> None:
    async with open_console(backend, audit, (120, 36)) as steered:
        await steered.press(key)
        await steered.until_shown(*texts)


async def test_a_wide_screen_shows_groups_and_projects_whole(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (230, 36)) as steered:
        await steered.press("5")
        await steered.until_shown(PROJECT)


async def test_on_a_narrow_screen_vnodes_stay_apart_in_table_and_grid(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (40, 12)) as steered:
        await steered.press("3")
        await steered.until_shown("om1", "om2", "om3")
        backend.server_status = changed(
            backend.server_status, vnodes={f"pbst-11625-mom{n}": a_vnode(8) for n in range(100)}
        )
        await steered.repoll()
        await steered.press("4")
        rows = steered.main.views["grid"].body.line_count()
        assert rows > 1
        assert len(set(beginnings(steered, 13, *range(2, 2 + rows)))) == rows


async def test_columns_grow_but_never_shrink_from_poll_to_poll(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (110, 36)) as steered:
        await steered.press("3")

        def state_at() -> int:
            return steered.table[0].index("state")

        before = state_at()
        backend.server_status = changed(
            backend.server_status, vnodes={**backend.server_status.vnodes, "x" * 30: a_vnode(8)}
        )
        await steered.repoll()
        grown = state_at()
        assert grown > before
        assert "x" * 30 in steered.text
        backend.server_status = changed(backend.server_status, vnodes={name: a_vnode(8) for name in NAMES})
        await steered.repoll()
        assert state_at() == grown
        await steered.press("5", "3")
        await steered.until(lambda: state_at() == before, "the widths of a view that is opened anew")


async def test_only_rows_on_the_screen_are_measured(audit: Path) -> None:
    backend = ScriptedBackend(many_jobs(3000))
    async with open_console(backend, audit, (110, 20)) as steered:
        await steered.press("5")
        await steered.until_shown("user1")
        table = steered.main.views["jobs"].body
        measured: set[str] = set().union(*table._widths._measured.values())  # type: ignore[attr-defined]
        assert 0 < len(measured) <= 2 * 20
