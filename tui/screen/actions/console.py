"""Operating the console itself: ask again, colours, command line, help, leave."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from tui.actions import SPEEDS, VIEWS, CommandError, complete, parse_command
from tui.config.theme_names import THEME_NAMES
from tui.model.typed_attributes import short_id
from tui.operations.verbs import VERBS
from tui.screen.actions.screen_api import Desk
from tui.screen.dialogs.help import HelpScreen
from tui.screen.widgets.prompt import Typing
from tui.tables.vnode_ranks import MODES

_SWITCH = ("on", "off")
_MOST_JOBS = 100
"""How many jobs complete a line: as many as anybody reads, however many there are."""


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
        if argument not in THEME_NAMES:
            raise CommandError(f"theme {argument!r}: there are {', '.join(THEME_NAMES)}")
        self._desk.look.choose(argument)
        self._desk.keeping.prefer(lambda liked: replace(liked, theme=argument))

    def ascii(self, argument: str) -> None:
        """Choose the characters."""
        if argument not in _SWITCH:
            raise CommandError(f"ascii {argument!r}: there are {', '.join(_SWITCH)}")
        ascii_only = argument == _SWITCH[0]
        self._desk.look.draw_in_ascii(ascii_only)
        self._desk.keeping.prefer(lambda liked: replace(liked, ascii_only=ascii_only))

    def command(self) -> None:
        """Let a command be typed."""
        self._desk.open_prompt(":", "", Typing(self._complete, self._enter))

    def _enter(self, text: str) -> None:
        if text:
            command = parse_command(text)
            self._desk.act_by_name(command.action.name, command.argument)

    def _complete(self, text: str) -> list[str]:
        world = self._desk.world
        words: dict[str, list[str]] = {
            "view": list(VIEWS),
            "theme": list(THEME_NAMES),
            "switch": list(_SWITCH),
            "speed": [str(speed) for speed in SPEEDS],
            "rank": list(MODES),
            "queue": list(world.picture.queues) if world else [],
            "user": sorted({user for _, user in world.tally.users}) if world else [],
            "saved": list(self._desk.keeping.preferences.filters.get(self._desk.view.view_name, {})),
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
        desk.app.push_screen(HelpScreen(simulated=desk.simulation is not None))

    def quit(self) -> None:
        """Leave."""
        self._desk.app.exit()
