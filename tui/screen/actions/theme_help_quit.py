"""Actions on the console itself: refresh, theme, characters, command line, help, quit."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from policy.model.pbs_units import show_job
from tui.action_registry import SPEEDS, CommandError, complete, parse_command, views_of
from tui.config.theme_names import THEME_NAMES
from tui.operations.operation_registry import VERBS
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.help import HelpScreen
from tui.screen.dialogs.messages import MessagesScreen
from tui.screen.widgets.prompt import Typing
from tui.tables.grid_colours import COLOURS
from tui.tables.vnode_ranks import MODES

_SWITCH = ("on", "off")
_MOST_JOBS = 100
"""Most job ids offered as completions of a line."""


class ConsoleActions:
    """The actions of the group ``console``."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def refresh(self) -> None:
        """Poll the server now."""
        self._screen.say("asking the server")
        self._screen.poller.ask()

    def theme(self, argument: str) -> None:
        """Choose the colours."""
        if argument not in THEME_NAMES:
            raise CommandError(f"theme {argument!r}: there are {', '.join(THEME_NAMES)}")
        self._screen.look.choose(argument)
        self._screen.keeping.prefer(lambda liked: replace(liked, theme=argument))

    def ascii(self, argument: str) -> None:
        """Choose the characters."""
        if argument not in _SWITCH:
            raise CommandError(f"ascii {argument!r}: there are {', '.join(_SWITCH)}")
        ascii_only = argument == _SWITCH[0]
        self._screen.look.draw_in_ascii(ascii_only)
        self._screen.keeping.prefer(lambda liked: replace(liked, ascii_only=ascii_only))

    def command(self) -> None:
        """Open the prompt for a command."""
        self._screen.open_prompt(":", "", Typing(self._complete, self._enter))

    def _enter(self, text: str) -> None:
        if text:
            command = parse_command(text, migrates=self._screen.migration is not None)
            self._screen.act_by_name(command.action.name, command.argument)

    def _complete(self, text: str) -> list[str]:
        cluster, migration = self._screen.cluster, self._screen.migration
        words: dict[str, list[str]] = {
            "view": list(views_of(migrates=migration is not None)),
            "migrating": list(islice(migration.jobs, _MOST_JOBS)) if migration is not None else [],
            "theme": list(THEME_NAMES),
            "switch": list(_SWITCH),
            "speed": [str(speed) for speed in SPEEDS],
            "rank": list(MODES),
            "colour": list(COLOURS),
            "queue": list(cluster.server_status.queues) if cluster else [],
            "user": sorted({user for _, user in cluster.counts.users}) if cluster else [],
            "saved": list(self._screen.keeping.preferences.filters.get(self._screen.view.view_name, {})),
            **self._screen.view.words,
        }
        if cluster is not None and " " in text:
            words.update({verb.name: list(verb.choices(cluster)) for verb in VERBS if verb.value})
            words["vnode"] = list(cluster.server_status.vnodes)
            last = text.rpartition(" ")[2]
            named = (show_job(job_id) for job_id in cluster.job_ids)
            words["job"] = list(islice((short for short in named if short.startswith(last)), _MOST_JOBS))
        return complete(text, words, simulated=self._screen.simulation is not None, migrates=migration is not None)

    def help(self) -> None:
        """All actions with their keys."""
        screen_api = self._screen
        simulated, migrates = screen_api.simulation is not None, screen_api.migration is not None
        screen_api.app.push_screen(HelpScreen(simulated=simulated, migrates=migrates))

    def messages(self) -> None:
        """What the line at the bottom said."""
        self._screen.app.push_screen(MessagesScreen(self._screen.footer.kept))

    def quit(self) -> None:
        """Leave."""
        self._screen.app.exit()
