"""Acting on jobs, vnodes and queues: the verbs, on what is marked, else under the cursor, else named on the line.

Targets are names, taken down before a dialog opens: what a refresh or a sort moves on the screen is never hit instead.
"""

from __future__ import annotations

from functools import partial

from tui.actions import CommandError
from tui.model.typed_attributes import short_id
from tui.operations.change import ChangeError
from tui.operations.verbs import VERBS, Order, Verb, full_names
from tui.screen.actions.screen_api import Desk
from tui.screen.dialogs.menu import ActMenu, Item
from tui.screen.dialogs.operation import Question
from tui.screen.views.quotas import QuotasView


class Acting:
    """The actions of the group ``act``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def do(self, verb: Verb, argument: str) -> None:
        """One of the verbs, with what was typed after it."""
        value, typed = verb.read(argument.split())
        if typed:
            verb.demand_value(self._desk.known_world(), value)
        names = full_names(self._desk.known_world(), verb.kind, typed) if typed else self._chosen(verb)
        self._ask(verb, names, value)

    def _chosen(self, verb: Verb) -> tuple[str, ...]:
        view = self._desk.view
        if view.kind != verb.kind:
            raise CommandError(
                f"{verb.name}: which {verb.kind}? :{verb.name} {verb.usage}, or on a row of {verb.kind}s"
            )
        return view.chosen

    def _ask(self, verb: Verb, names: tuple[str, ...], value: str) -> None:
        desk = self._desk
        world = desk.known_world()
        told = f"{len(names):,} {verb.kind}s" if len(names) != 1 else _told(verb.kind, names[0])
        question = Question(
            f"{verb.name} {told}",
            lambda text: verb.deed(desk.known_world(), Order(names, text, desk.changes.user)),
            verb.value,
            tuple(verb.choices(world)),
            value,
            verb.label,
        )
        desk.changes.ask(question, desk.known_world)

    def act(self) -> None:
        """The menu of what can be done with the marked rows, or the one under the cursor."""
        desk, view = self._desk, self._desk.view
        if isinstance(view, QuotasView) and view.table.cursor is not None:
            kind, name = view.table.cursor
            argument = f"{view.queue} {kind}:{name}"
            items = [
                Item(action, what, "", partial(desk.act_by_name, action, argument))
                for action, what in (("quota", "change this quota"), ("user-priority", "change this priority"))
            ]
            title = f"{name} in {view.queue}"
        elif view.kind and view.chosen:
            names = view.chosen
            items = [self._item(verb, names) for verb in VERBS if verb.kind == view.kind]
            title = f"{len(names):,} {view.kind}s" if len(names) > 1 else _told(view.kind, names[0])
        else:
            raise CommandError("act: works on a job, a vnode, a queue or a quota; there is none under the cursor")
        desk.choose(ActMenu(title, items))

    def _item(self, verb: Verb, names: tuple[str, ...]) -> Item:
        why_not = ""
        if not verb.value or verb.given:
            try:
                verb.deed(self._desk.known_world(), Order(names, verb.given, self._desk.changes.user))
            except ChangeError as error:
                why_not = str(error)
        return Item(verb.name, verb.help, why_not, partial(self._ask, verb, names, verb.given))

    def halt(self) -> None:
        """Stop the deed that is under way after the command that is being sent."""
        self._desk.say(self._desk.changes.halt())


def _told(kind: str, name: str) -> str:
    return short_id(name) if kind == "job" else f"{kind} {name}"
