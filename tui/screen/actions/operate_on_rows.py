"""Operations on jobs, vnodes and queues, applied to the names on the line, else the marked rows, else the cursor's row.

Targets are names, fixed before the dialog opens: rows moved by a refresh or a sort cannot become targets.
"""

from __future__ import annotations

from functools import partial

from policy.model.pbs_units import show_job
from tui.action_registry import MIGRATION, CommandError
from tui.backends.commands_interface import ChangeError
from tui.operations.operation_registry import VERBS, Order, Verb, full_names
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.operation_dialog import Question, open_dialog
from tui.screen.dialogs.operations_menu import ActMenu, Item
from tui.screen.views.quotas import QuotasView
from tui.screen.workers.operation_runner import Make


class OperateActions:
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
        head = f"{verb.name} {_describe(verb.kind, names)}"
        choices = tuple(verb.choices(self._screen.known_cluster()))
        question = Question(head, self._make(verb, names), verb.value, choices, value, verb.label)
        open_dialog(self._screen.app, question, self._screen.runner)

    def _make(self, verb: Verb, names: tuple[str, ...]) -> Make:
        user = self._screen.runner.user
        return lambda cluster, commands, text: verb.operation(cluster, commands, Order(names, text, user))

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
        elif view.view_name == MIGRATION and view.chosen:
            what = "stop these jobs wherever they are; what they have written comes back, or is discarded"
            items = [Item("mgstop", what, "", partial(screen_api.act_by_name, "mgstop", ""))]
            title = _describe("migrating job", view.chosen)
        elif view.kind and view.chosen:
            names = view.chosen
            items = [self._item(verb, names) for verb in VERBS if verb.kind == view.kind]
            title = _describe(view.kind, names)
        else:
            raise CommandError("act: works on a job, a vnode, a queue or a quota; there is none under the cursor")
        screen_api.choose(ActMenu(title, items))

    def _item(self, verb: Verb, names: tuple[str, ...]) -> Item:
        why_not = self._screen.backend.commands.unsupported.get(verb.name, "")
        if not why_not and (not verb.value or verb.given):
            try:
                self._screen.runner.prepare(self._make(verb, names), verb.given)
            except ChangeError as error:
                why_not = str(error).removeprefix(f"{verb.name}: ")
        return Item(verb.name, verb.help, why_not, partial(self._ask, verb, names, verb.given))

    def halt(self) -> None:
        """Stop the operation under way after the command that is being sent."""
        self._screen.say(self._screen.runner.halt())


def _describe(kind: str, names: tuple[str, ...]) -> str:
    if len(names) != 1:
        return f"{len(names):,} {kind}s"
    return show_job(names[0]) if kind == "job" else f"{kind} {names[0]}"
