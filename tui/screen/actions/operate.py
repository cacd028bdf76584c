"""Operations on jobs, vnodes and queues, applied to the names on the line, else the marked rows, else the cursor's row.

Targets are names, fixed before the dialog opens: rows moved by a refresh or a sort cannot become targets.
"""

from __future__ import annotations

from functools import partial

from tui.actions import CommandError
from tui.model.typed_attributes import short_id
from tui.operations.change import ChangeError
from tui.operations.verbs import VERBS, Order, Verb, full_names
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.menu import ActMenu, Item
from tui.screen.dialogs.operation import Question
from tui.screen.views.quotas import QuotasView


class Acting:
    """The actions of the group ``act``."""

    def __init__(self, screen_api: ScreenApi) -> None:
        self._screen = screen_api

    def do(self, verb: Verb, argument: str) -> None:
        """Start a verb; ``argument`` is what was typed after its name."""
        value, typed = verb.read(argument.split())
        if typed:
            verb.demand_value(self._screen.known_cluster(), value)
        names = full_names(self._screen.known_cluster(), verb.kind, typed) if typed else self._chosen(verb)
        self._ask(verb, names, value)

    def _chosen(self, verb: Verb) -> tuple[str, ...]:
        view = self._screen.view
        if view.kind != verb.kind:
            raise CommandError(
                f"{verb.name}: which {verb.kind}? :{verb.name} {verb.usage}, or on a row of {verb.kind}s"
            )
        return view.chosen

    def _ask(self, verb: Verb, names: tuple[str, ...], value: str) -> None:
        screen_api = self._screen
        cluster = screen_api.known_cluster()
        told = f"{len(names):,} {verb.kind}s" if len(names) != 1 else _told(verb.kind, names[0])
        question = Question(
            f"{verb.name} {told}",
            lambda text: verb.operation(screen_api.known_cluster(), Order(names, text, screen_api.changes.user)),
            verb.value,
            tuple(verb.choices(cluster)),
            value,
            verb.label,
        )
        screen_api.changes.ask(question, screen_api.known_cluster)

    def act(self) -> None:
        """Open the menu of verbs for the marked rows, or the row under the cursor."""
        screen_api, view = self._screen, self._screen.view
        if isinstance(view, QuotasView) and view.table.cursor is not None:
            kind, name = view.table.cursor
            argument = f"{view.queue} {kind}:{name}"
            items = [
                Item(action, what, "", partial(screen_api.act_by_name, action, argument))
                for action, what in (("quota", "change this quota"), ("user-priority", "change this priority"))
            ]
            title = f"{name} in {view.queue}"
        elif view.kind and view.chosen:
            names = view.chosen
            items = [self._item(verb, names) for verb in VERBS if verb.kind == view.kind]
            title = f"{len(names):,} {view.kind}s" if len(names) > 1 else _told(view.kind, names[0])
        else:
            raise CommandError("act: works on a job, a vnode, a queue or a quota; there is none under the cursor")
        screen_api.choose(ActMenu(title, items))

    def _item(self, verb: Verb, names: tuple[str, ...]) -> Item:
        why_not = ""
        if not verb.value or verb.given:
            try:
                verb.operation(self._screen.known_cluster(), Order(names, verb.given, self._screen.changes.user))
            except ChangeError as error:
                why_not = str(error)
        return Item(verb.name, verb.help, why_not, partial(self._ask, verb, names, verb.given))

    def halt(self) -> None:
        """Stop the operation under way after the command that is being sent."""
        self._screen.say(self._screen.changes.halt())


def _told(kind: str, name: str) -> str:
    return short_id(name) if kind == "job" else f"{kind} {name}"
