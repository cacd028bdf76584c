"""Operations on jobs, vnodes and queues, applied to the names on the line, else the marked rows, else the cursor's row.

Targets are names, fixed before the dialog opens: rows moved by a refresh or a sort cannot become targets.
"""

from __future__ import annotations

from functools import partial

from policy.model.pbs_units import show_count, show_job
from tui.action_registry import MIGRATION, why_nothing
from tui.backends.interface.commands_interface import ChangeError
from tui.command_line import CommandError
from tui.model.typed_attributes import amount, user_of
from tui.operations.hosts_to_log_in_to import hosts_of
from tui.operations.operation_registry import VERBS, Order, Verb, full_names
from tui.screen.actions.screen_api import ScreenApi
from tui.screen.dialogs.operation_dialog import Question, open_dialog
from tui.screen.dialogs.operations_menu import ActMenu, Item
from tui.screen.views.quotas import QuotasView
from tui.screen.workers.operation_runner import Make

_MOST_HOSTS = 100


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
        self._ask(verb, names, value, asks=not verb.optional)

    def _chosen(self, verb: Verb) -> tuple[str, ...]:
        view = self._screen.view
        if view.kind != verb.kind:
            raise CommandError(
                f"{verb.name}: which {verb.kind}? :{verb.name} {verb.usage}, or on a row of {verb.kind}s"
            )
        if not view.chosen:
            raise CommandError(f"{verb.name}: {why_nothing(view.gone)}")
        return view.chosen

    def _ask(self, verb: Verb, names: tuple[str, ...], value: str, *, asks: bool = True) -> None:
        # A value of theirs is set (the mode of a queue), or something is done to them (delete a job).
        head = f"{verb.name}{' of' if verb.label == verb.name else ''} {_describe(verb.kind, names)}"
        choices = tuple(verb.choices(self._screen.known_cluster()))
        wanted = f"{verb.value}, or nothing" if verb.optional else verb.value
        question = Question(head, self._make(verb, names), wanted, choices, value, verb.label, asks)
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
                Item(action, what, "", partial(screen_api.act_by_name, action, argument), key)
                for action, key, what in (
                    ("quota", "e", "change this quota"),
                    ("user-priority", "p", "change this priority"),
                )
            ]
            title = f"{name} in {view.queue}"
        elif view.view_name == MIGRATION and view.chosen:
            what = "stop these jobs wherever they are; what they have written comes back, or is discarded"
            items = [Item("mgstop", what, "", partial(screen_api.act_by_name, "mgstop", ""), "s")]
            title = _describe("migrating job", view.chosen)
        elif view.kind and view.chosen:
            names = view.chosen
            items = [self._item(verb, names) for verb in VERBS if verb.kind == view.kind]
            if view.kind in ("job", "vnode"):
                items.append(self._login())
            title = _describe(view.kind, names)
            if view.kind == "job" and len(names) == 1:
                title = self._whose(names[0])
        else:
            raise CommandError("act: works on a job, a vnode, a queue or a quota; there is none under the cursor")
        screen_api.choose(ActMenu(title, items))

    def _item(self, verb: Verb, names: tuple[str, ...]) -> Item:
        why_not = self._screen.backend.commands.unsupported.get(verb.name, "")
        if not why_not and (not verb.value or verb.given or verb.optional):
            try:
                self._screen.runner.prepare(self._make(verb, names), verb.given)
            except ChangeError as error:
                why_not = str(error).removeprefix(f"{verb.name}: ")
        return Item(verb.name, verb.help, why_not, partial(self._ask, verb, names, verb.given), verb.key)

    def _whose(self, job_id: str) -> str:
        """``13 bob · 8 cores · render``."""
        cluster = self._screen.known_cluster()
        texts = cluster.job(job_id) or {}
        cores = show_count(amount(texts, f"Resource_List.{cluster.counted}"), "core")
        return " · ".join(filter(None, [f"{show_job(job_id)} {user_of(texts)}", cores, texts.get("Job_Name", "")]))

    def _login(self) -> Item:
        """The line of the menu for a shell on the host."""
        why_not = ""
        try:
            hosts_of(self._screen.known_cluster(), self._screen.view.kind, self._screen.view.chosen)
        except ChangeError as error:
            why_not = str(error)
        if self._screen.backend.simulated:
            why_not = "the hosts of a simulated cluster are not there"
        return Item("ssh", "log in to its host", why_not, self.ssh, "S")

    def ssh(self) -> None:
        """Log in to the host under the cursor; of several, to the one that is chosen from a list."""
        view = self._screen.view
        if self._screen.backend.simulated:
            raise CommandError("ssh: the hosts of a simulated cluster are not there")
        hosts = hosts_of(self._screen.known_cluster(), view.kind, view.chosen)
        if len(hosts) == 1:
            self._log_in(hosts[0])
            return
        items = [Item(host, "log in to it", "", partial(self._log_in, host)) for host in hosts[:_MOST_HOSTS]]
        self._screen.choose(ActMenu("log in to which host?", items))

    def _log_in(self, host: str) -> None:
        self._screen.run_outside(("ssh", "--", host))

    def halt(self) -> None:
        """Stop the operation under way after the command that is being sent."""
        self._screen.say(self._screen.runner.halt())


def _describe(kind: str, names: tuple[str, ...]) -> str:
    if len(names) != 1:
        return f"{len(names):,} {kind}s"
    return show_job(names[0]) if kind == "job" else f"{kind} {names[0]}"
