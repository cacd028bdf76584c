"""Operating the console itself: ask again, colours, command line, help, leave."""

from __future__ import annotations

from itertools import islice

from tui.core.actions import SPEEDS, VIEWS, CommandError, complete
from tui.core.facts import short_id
from tui.core.ranks import MODES
from tui.core.verbs import VERBS
from tui.desk import Desk
from tui.dialogs.help import HelpScreen

_MOST_JOBS = 100
"""How many jobs complete a line: as many as anybody reads, however many there are."""
THEMES = ("dark", "light")


class Operating:
    """The actions of the group ``console``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def refresh(self) -> None:
        """Ask the server now."""
        self._desk.say("asking again")
        self._desk.poller.ask()

    def theme(self, argument: str) -> None:
        """Choose the colours."""
        if argument not in THEMES:
            raise CommandError(f"theme {argument!r}: there are {', '.join(THEMES)}")
        self._desk.app.theme = f"pbsteer-{argument}"

    def command(self) -> None:
        """Let a command be typed."""
        self._desk.open_prompt(":", "", self._complete)

    def _complete(self, text: str) -> list[str]:
        world = self._desk.world
        words: dict[str, list[str]] = {
            "view": list(VIEWS),
            "theme": list(THEMES),
            "speed": [str(speed) for speed in SPEEDS],
            "rank": list(MODES),
            "queue": list(world.picture.queues) if world else [],
            "user": sorted({user for _, user in world.tally.users}) if world else [],
            **self._desk.view.words,
        }
        if world is not None and " " in text:
            words.update({verb.name: list(verb.choices(world)) for verb in VERBS if verb.value})
            words["vnode"] = list(world.picture.vnodes)
            last = text.rpartition(" ")[2]
            named = (short_id(job_id) for job_id in world.job_ids)
            words["job"] = list(islice((short for short in named if short.startswith(last)), _MOST_JOBS))
        return complete(text, words)

    def help(self) -> None:
        """All actions with their keys."""
        desk = self._desk
        desk.app.push_screen(HelpScreen(simulated=desk.simulation is not None, ascii_only=desk.ascii_only))

    def quit(self) -> None:
        """Leave."""
        self._desk.app.exit()
