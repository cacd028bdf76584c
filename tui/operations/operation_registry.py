"""The one list of operations on jobs, vnodes and queues by name; the screen and ``pbsteer do`` are built from it.

A verb has the kind of its targets, the value that it takes, if any, and the function that makes its operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from policy.settings.settings_of_server_and_passes import MODES
from tui.backends.interface.commands_interface import ChangeError, Commands, demand_supported
from tui.operations.by_target.job_ops import delete, hold, move, release, requeue, set_job_priority
from tui.operations.by_target.queue_ops import set_mode, switch_queues
from tui.operations.by_target.vnode_ops import DRAIN_WAYS, clear, drain, offline
from tui.operations.by_target.walltime_run_suspend_comment_ops import (
    resume_jobs,
    run_now,
    set_comment,
    set_walltime,
    suspend,
)
from tui.operations.operation_type_and_preview import CONSOLE, Operation
from tui.state.cluster_view import ClusterView
from tui.state.typed_job_id import AmbiguousJobError, find_jobs


class Order(NamedTuple):
    """What was requested: full names of the targets, the value (empty if the verb takes none), the user, and what the
    user types before a verb: notes name other commands as they are typed there."""

    names: tuple[str, ...]
    value: str = ""
    user: str = ""
    before_verb: str = CONSOLE


@dataclass(frozen=True)
class Verb:
    """``kind`` is job, vnode or queue. ``value`` names the value in usage lines, ``choices`` lists the allowed values
    where that is possible, ``given`` is the default. ``value_last``: the value follows the names. ``label`` is the name
    of the value's input field, ``key`` the letter in the menu. ``text`` names a text of any number of words that comes
    last, as in ``reason:fan 2 replaced``: it is the value, or follows it. ``optional``: it works without a value."""

    name: str
    kind: str
    help: str
    make: Callable[[ClusterView, Commands, Order], Operation]
    value: str = ""
    choices: Callable[[ClusterView], Sequence[str]] = lambda _: ()
    given: str = ""
    value_last: bool = False
    label: str = ""
    key: str = ""
    text: str = ""
    optional: bool = False

    @property
    def usage(self) -> str:
        """The arguments in a usage line: ``QUEUE JOB...``."""
        names = f"{self.kind.upper()}..."
        value = f"[{self.value}]" if self.given else "" if self.value == self.text else self.value
        text = f"{self.text}:TEXT" if self.text else ""
        text = f"[{text}]" if text and (self.optional or self.given) else text
        parts = (names, value) if self.value_last else (value, names, text)
        return " ".join(part for part in parts if part)

    def read(self, words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """The value, empty if there is none among the words, and the names."""
        if self.text:
            at = next((at for at, word in enumerate(words) if word.startswith(f"{self.text}:")), len(words))
            text = " ".join(words[at:]).partition(":")[2].strip()
            if self.value == self.text:
                return text, tuple(words[:at])
            value, names = self._read(words[:at])
            return f"{value} {text}".strip(), names
        return self._read(words)

    def _read(self, words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        if not self.value:
            return "", tuple(words)
        if self.given:
            takes = words and words[0] in self.value.split("|")
            return (words[0], tuple(words[1:])) if takes else (self.given, tuple(words))
        if self.value_last:
            return (words[-1] if words else ""), tuple(words[:-1])
        return (words[0] if words else ""), tuple(words[1:])

    def operation(self, cluster: ClusterView, commands: Commands, order: Order) -> Operation:
        """The operation that was requested. Raises :class:`ChangeError` if it is not possible."""
        demand_supported(commands, self.name)
        return self.make(cluster, commands, order)

    def demand_value(self, cluster: ClusterView, value: str) -> None:
        """Raise :class:`ChangeError` if a value that follows the names is not allowed: the words may be in the wrong
        order, and the error about unknown names would not say so."""
        allowed = self.choices(cluster) if self.value_last and value else ()
        if allowed and value not in allowed:
            raise ChangeError(f"{self.name} {value!r}: allowed is {', '.join(allowed)}, in {self.name} {self.usage}")


def _switch_queues(cluster: ClusterView, commands: Commands, order: Order, verb: str) -> Operation:
    return switch_queues(cluster, commands, order.names, verb, order.before_verb)


VERBS: tuple[Verb, ...] = (
    Verb(
        "hold",
        "job",
        "hold waiting jobs, so that their owners cannot release them",
        lambda w, c, o: hold(w, c, o.names),
        key="h",
    ),
    Verb("release", "job", "take all holds off jobs", lambda w, c, o: release(w, c, o.names), key="r"),
    Verb(
        "walltime",
        "job",
        "give jobs another walltime, as 12:00:00, 2h or +2h, and see whom that delays",
        lambda w, c, o: set_walltime(w, c, o.names, o.value),
        "TIME",
        label="walltime",
        key="w",
    ),
    Verb("delete", "job", "delete jobs; nothing brings them back", lambda w, c, o: delete(w, c, o.names), key="d"),
    Verb("requeue", "job", "end runs and queue their jobs again", lambda w, c, o: requeue(w, c, o.names), key="q"),
    Verb(
        "run",
        "job",
        "start a waiting job now where there is room, before all others",
        lambda w, c, o: run_now(w, c, o.names),
        key="n",
    ),
    Verb(
        "suspend",
        "job",
        "suspend running jobs: they keep their memory, their cores become free",
        lambda w, c, o: suspend(w, c, o.names),
        key="s",
    ),
    Verb("resume", "job", "let suspended jobs go on", lambda w, c, o: resume_jobs(w, c, o.names), key="u"),
    Verb(
        "move",
        "job",
        "move waiting jobs to another queue",
        lambda w, c, o: move(w, c, o.names, o.value),
        "QUEUE",
        lambda cluster: sorted(cluster.server_status.queues),
        label="to queue",
        key="m",
    ),
    Verb(
        "priority",
        "job",
        "give jobs another PBS priority, -1024 to 1023",
        lambda w, c, o: set_job_priority(w, c, o.names, o.value),
        "N",
        label="priority",
        key="p",
    ),
    Verb(
        "comment",
        "job",
        "write a comment on jobs, which their owners see",
        lambda w, c, o: set_comment(w, c, o.names, o.value),
        "text",
        label="comment",
        key="c",
        text="text",
    ),
    Verb(
        "offline",
        "vnode",
        "take vnodes out of use, with a reason; their jobs go on",
        lambda w, c, o: offline(w, c, o.names, o.value, o.user),
        "reason",
        label="reason",
        key="o",
        text="reason",
        optional=True,
    ),
    Verb("clear", "vnode", "put vnodes back into use", lambda w, c, o: clear(w, c, o.names), key="c"),
    Verb(
        "drain",
        "vnode",
        "take vnodes out of use and plan what becomes of their jobs: wait for them, or requeue them",
        lambda w, c, o: drain(w, c, o.names, o.value, o.user),
        "|".join(DRAIN_WAYS),
        lambda _: DRAIN_WAYS,
        DRAIN_WAYS[0],
        label="jobs there:",
        key="d",
        text="reason",
    ),
    *(
        Verb(name, "queue", help_, partial(_switch_queues, verb=name), key=key)
        for name, key, help_ in (
            ("start", "s", "let the jobs of queues start"),
            ("stop", "t", "let no more jobs of queues start; those that run go on"),
            ("enable", "e", "let queues take new jobs"),
            ("disable", "d", "let queues take no new jobs"),
        )
    ),
    Verb(
        "mode",
        "queue",
        f"switch what pbsteer does in queues: {', '.join(MODES)}",
        lambda w, c, o: set_mode(w, c, o.names, o.value),
        "MODE",
        lambda _: MODES,
        value_last=True,
        label="mode",
        key="m",
    ),
)
BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}


def full_names(cluster: ClusterView, kind: str, typed: Sequence[str]) -> tuple[str, ...]:
    """PBS's names for the typed ones; a job id may lack the server's name. Raises :class:`ChangeError` if
    one is unknown, or may mean several jobs."""
    objects = {
        "job": cluster.server_status.jobs,
        "vnode": cluster.server_status.vnodes,
        "queue": cluster.server_status.queues,
    }[kind]
    if kind == "job":
        try:
            found = find_jobs(objects, typed, cluster.server_name)
        except AmbiguousJobError as error:
            raise ChangeError(str(error)) from error
    else:
        found = {name: name for name in typed if name in objects}
    unknown = [name for name in typed if name not in found]
    if unknown:
        more = f" nor {len(unknown) - 1:,} more" if len(unknown) > 1 else ""
        raise ChangeError(f"{kind} {unknown[0]!r} is not on the server{more}")
    return tuple(dict.fromkeys(found[name] for name in typed))
