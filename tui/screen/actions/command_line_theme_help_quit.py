"""Actions on the console itself: refresh, theme, characters, command line, help, quit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice

from policy.model.pbs_units import show_job
from tui.action_registry import SPEEDS, Action, views_of
from tui.command_line import CommandError, complete, find_actions, parse_command
from tui.config.theme_names import THEME_NAMES
from tui.operations.operation_registry import VERBS
from tui.pages.key_hints import actions_of
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.help import HelpScreen
from tui.screen.dialogs.message_history import MessagesScreen
from tui.screen.dialogs.operations_menu import ActMenu, Item
from tui.screen.terminal.shell_job_control import has_shell_to_return_from
from tui.screen.widgets.prompt import Complaint, Typing
from tui.tables.vnode_grid.grid_colours import COLOURS
from tui.tables.vnode_grid.vnode_ranks import MODES
from tui.text.screen_line import Line

DEMO = "demo"
"""The name by which a console goes to the simulated cluster."""
_SWITCH = ("on", "off")
_MOST_COMMANDS = 12
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
        typing = Typing(self._complete_any, self._enter, check=self._check, describe=self._describe)
        self._screen.open_prompt(":", "", typing)

    def _check(self, text: str) -> Complaint | None:
        """What is wrong with the command of a line; the line stays open then."""
        try:
            parse_command(text, migrates=self._screen.migration is not None)
        except CommandError as error:
            near = [action.name.removeprefix("view-") for action in self._found(text.partition(" ")[0])[:3]]
            also = f"; tab takes {near[0]}" if near and " " not in text and "could be" not in str(error) else ""
            return Complaint(f"{error}{also}", 0, len(text.partition(" ")[0]))
        return None

    def _found(self, word: str) -> list[Action]:
        screen_api = self._screen
        simulated, migrates = screen_api.simulation is not None, screen_api.migration is not None
        return find_actions(word, simulated=simulated, migrates=migrates)

    def _complete_any(self, text: str) -> list[str]:
        """Completions that begin as typed; for a command's name without any, those that fit it otherwise."""
        found = self._complete(text)
        if " " in text:
            return found
        if found == [text]:
            action = next((action for action in self._found(text) if action.name == text), None)
            return [f"{text} "] if action is not None and action.argument else found
        return found or [action.name.removeprefix("view-") for action in self._found(text)]

    def _describe(self, text: str) -> list[Line]:
        """The commands that the typed word may mean, with their keys and what they do."""
        word, blank, _ = text.partition(" ")
        if not word:
            return []
        found = self._found(word)
        if blank:
            found = [action for action in found if action.name == word]
        lines: list[Line] = []
        for action in found[:_MOST_COMMANDS]:
            name = action.name.removeprefix("view-") + (f" {action.argument}" if action.argument else "")
            lines.append(((f" {action.shown_keys:<8.8} ", "key"), (f"{name:<28} ", "bold"), (action.help, "dim")))
        return lines

    def _enter(self, text: str) -> None:
        if text:
            command = parse_command(text, migrates=self._screen.migration is not None)
            self._screen.act_by_name(command.action.name, command.argument)

    def _complete(self, text: str) -> list[str]:
        cluster, migration = self._screen.cluster, self._screen.migration
        words: dict[str, list[str]] = {
            "view": list(views_of(migrates=migration is not None)),
            "migrating": list(islice(migration.jobs, _MOST_JOBS)) if migration is not None else [],
            "server": [*self._screen.runner.servers, DEMO],
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
        """All actions with their keys, those of the shown view in front; narrowed by what is typed."""
        screen_api = self._screen
        simulated, migrates = screen_api.simulation is not None, screen_api.migration is not None
        here = actions_of(screen_api.view.view_name)
        screen_api.app.push_screen(HelpScreen(simulated=simulated, migrates=migrates, here=here))

    def messages(self) -> None:
        """What the line at the bottom said."""
        self._screen.app.push_screen(MessagesScreen(self._screen.footer.kept))

    def server(self, argument: str = "") -> None:
        """Go to another server: leave this one, and open the console again on the other."""
        screen_api = self._screen
        if screen_api.runner.busy is not None:
            raise CommandError("server: an operation is under way here; :halt stops it")
        if argument:
            if argument.startswith("-") or argument.split() != [argument]:
                raise CommandError(f"server {argument!r}: one name of a host")
            screen_api.app.exit(argument)
            return
        here = {screen_api.backend.name, screen_api.cluster.server_name if screen_api.cluster is not None else ""}
        others = [name for name in screen_api.runner.servers if name not in here]
        if not others:
            raise CommandError('server: console.toml lists no other; servers = ["hpc1", "hpc2"] there, or :server NAME')
        items = [Item(name, "go there", "", partial(self.server, name)) for name in others]
        screen_api.choose(ActMenu(f"servers · this is {screen_api.backend.name}", items))

    def background(self) -> None:
        """Stop, and leave the terminal to the shell until it continues this process."""
        if not has_shell_to_return_from():
            raise CommandError("background: no shell started this console that could bring it back")
        self._screen.app.action_suspend_process()

    def quit(self) -> None:
        """Leave."""
        self._screen.app.exit()
