"""The README's pictures: the real program on the demo cluster, its screens written as SVG.

``python -m tui.cli.readme_pictures FOLDER`` draws them all. The seed and every clock are fixed, so the same code draws
the same pictures, except for the seconds that an earlier pass took.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from textual.pilot import Pilot

from sim.demo.demo_cluster_with_hooks import DemoCluster
from sim.demo.scratch_folder import Scratch
from tui.audit.audit_file import Actor
from tui.backends.simulated_cluster import SimulatedBackend
from tui.cli.open_backend import DEMO_SEED, cluster_of_trace
from tui.screen.app import Console

SIZE = (120, 30)
PASSES = 40
_FONT_FACE = re.compile(r"@font-face \{[^}]*\}\s*")

_DONE = "done"
"""Not a key: wait until pending work is done."""

_CHANGE = ("u", "6", "e", *"1400", "enter", _DONE)

PICTURES: dict[str, Sequence[str]] = {
    "overview": ("1",),
    "vnodes": ("4",),
    "who": ("4", "w"),
    "jobs": ("5", "slash", *"state:Q", "enter"),
    "job": ("5", "slash", *"state:Q", "enter", "j", "enter"),
    "quotas": ("6",),
    "quota-change": _CHANGE,
    "plan": ("7",),
    "pass": ("7", "left", "left", "left"),
    "audit": (*_CHANGE, "a", _DONE, "z", _DONE, "a", _DONE, "e", *"1300", "enter", _DONE, "a", _DONE, "8"),
    "drain": ("u", "3", "j", "j", "space", "j", "space", ":", *"drain", "enter", "down", "enter"),
    "confirm": ("u", "5", *"jjj", "space", "j", "space", "a", "d", _DONE, "a"),
}
"""The name of each picture, and the keys that lead to it from the start."""


def warmed_up() -> DemoCluster:
    """The demo cluster after ``PASSES`` passes; made anew for each console, since a console closes its cluster."""
    cluster = DemoCluster(seed=DEMO_SEED, calm=True)
    cluster.pause()
    for _ in range(PASSES):
        cluster.step()
    return cluster


async def draw(folder: Path, names: Sequence[str]) -> list[Path]:
    """Draw the named pictures into a folder; returns the files."""
    files = []
    for name in names:
        keys = PICTURES[name]
        with tempfile.TemporaryDirectory() as state:
            cluster = warmed_up()
            backend = SimulatedBackend(cluster, cluster_of_trace, Scratch("pbsteer-pictures-"))
            console = Console(
                backend,
                Path(state) / "audit.jsonl",
                Actor("admin", "console"),
                simulation=backend,
                interval_s=3600,
                clock=lambda: cluster.now_s,  # noqa: B023 - the console is closed before the next cluster is there
                elapsed=lambda: 0.0,
            )
            async with console.run_test(size=SIZE) as pilot:
                await _until_decided(console, pilot)
                for key in (*keys, _DONE):
                    if key == _DONE:
                        await wait_for_lookups(console, pilot)
                    else:
                        await pilot.press("colon" if key == ":" else key)
                file = folder / f"{name}.svg"
                file.write_text(_by_itself(console.export_screenshot(title=f"pbsteer: {name}")), encoding="utf-8")
                files.append(file)
    return files


def _by_itself(svg: str) -> str:
    """The picture with its blanks preserved in every viewer, and without fonts that would be fetched from elsewhere."""
    return _FONT_FACE.sub("", svg).replace("<svg ", '<svg xml:space="preserve" ', 1)


async def wait_for_lookups(console: Console, pilot: Pilot[str]) -> None:
    """Until no look-up of the console runs. Textual's own wait raises if a later look-up has replaced one."""
    while not all(worker.is_finished for worker in console.workers):
        await pilot.pause(0.02)
    await pilot.pause()


async def _until_decided(console: Console, pilot: Pilot[str]) -> None:
    while console.main.cluster is None or console.main.cluster.decision is None:
        await pilot.pause(0.02)
    await pilot.pause()


def main(arguments: Sequence[str]) -> int:
    """Draw into the named folder, all pictures or those that are named after it."""
    first, *names = arguments or [""]
    if not first or not PICTURES.keys() >= set(names):
        sys.stderr.write(f"usage: python -m tui.cli.readme_pictures FOLDER [NAME...], of {', '.join(PICTURES)}\n")
        return 2
    folder = Path(first)
    folder.mkdir(parents=True, exist_ok=True)
    for file in asyncio.run(draw(folder, names or list(PICTURES))):
        sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
