"""The one registry of the console's actions: its keys, the ``:`` command line and ``?`` help are built from it.

An action defines its name, keys, argument and help text, and a reason for the screen if it is not available. The screen
implements what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tui.config.theme_names import THEME_NAMES
from tui.operations.operation_registry import VERBS, Verb

VIEWS = ("overview", "queues", "vnodes", "grid", "jobs", "quotas", "plan", "audit")
RESERVATIONS = "reservations"
"""The view of PBS's own reservations, which has a tab only where there are some."""
MIGRATION = "migration"
"""The view that only a site with other clusters has."""


@dataclass(frozen=True)
class Situation:
    """What decides whether an action is available: the view, the lock, the cursor, and whether there is an undo.
    ``migrates``: the site has other clusters."""

    view: str
    unlocked: bool
    simulated: bool
    has_cluster: bool = True
    has_cursor: bool = False
    can_undo: bool = False
    migrates: bool = False


Availability = Callable[[Situation], str]
"""Returns an empty text if the action is available, else the reason why not."""


@dataclass(frozen=True)
class Action:
    """``argument`` names the argument of the ``:`` command (empty: none). ``completes`` has the kinds of its words for
    completion, by position: ``|`` separates several kinds for one word, ``...`` makes a kind apply to all words from
    there on. ``migrates``: where the site has no other clusters there is no such action."""

    name: str
    keys: tuple[str, ...]
    group: str
    help: str
    argument: str = ""
    completes: str = ""
    unavailable: Availability = lambda _: ""
    migrates: bool = False

    @property
    def shown_keys(self) -> str:
        """The keys as the help shows them."""
        return " ".join(_SHOWN.get(key, key) for key in self.keys)


_SHOWN = {
    "colon": ":",
    "slash": "/",
    "question_mark": "?",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "full_stop": ".",
    "asterisk": "*",
    "plus": "+",
    "minus": "-",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def _simulated(situation: Situation) -> str:
    why_not = "works on a simulated cluster only; :pause-pbsteer pauses pbsteer here"
    return "" if situation.simulated else why_not


def _on_row(situation: Situation) -> str:
    return "" if situation.has_cursor else "nothing is under the cursor here"


def _to_open(situation: Situation) -> str:
    return "" if situation.has_cursor else "nothing here to open"


def _in_table(situation: Situation) -> str:
    tables = (
        "queues",
        "vnodes",
        "jobs",
        "quotas",
        "plan",
        "audit",
        RESERVATIONS,
        *((MIGRATION,) if situation.migrates else ()),
    )
    return "" if situation.view in tables else f"works in {', '.join(tables)}"


def _in_jobs(situation: Situation) -> str:
    return "" if situation.view == "jobs" else "works in the jobs view"


def _unfolds(situation: Situation) -> str:
    if situation.view not in ("jobs", "plan", "quotas"):
        return "works in jobs, plan and quotas"
    return "" if situation.view == "quotas" else _on_row(situation)


def _in_grid(situation: Situation) -> str:
    return "" if situation.view == "grid" else "works in the grid"


def _in_quotas(situation: Situation) -> str:
    if situation.view != "quotas":
        return "works in the quotas view, on the user to change (or :quota QUEUE USER CORES)"
    return _on_row(situation)


def _undoable(situation: Situation) -> str:
    return "" if situation.can_undo else "nothing was changed from this console yet"


def _needs_cluster(situation: Situation) -> str:
    return "" if situation.has_cluster else "no answer from the server yet"


def _completes(verb: Verb) -> str:
    """Kinds of words by position, in the form of :attr:`Action.completes`."""
    names, value = f"{verb.kind}...", verb.name if verb.value and verb.value != verb.text else ""
    if verb.value_last:
        return f"{verb.kind}|{value}..."
    return f"{value}|{names} {names}" if verb.given else f"{value} {names}".strip()


ACTIONS: tuple[Action, ...] = (
    *(
        Action(f"view-{view}", (str(number),), "go", f"show {what}")
        for number, (view, what) in enumerate(
            zip(
                VIEWS,
                (
                    "the overview: state of the cluster, and what needs attention",
                    "queues",
                    "vnodes as a table",
                    "vnodes as a grid of how full they are",
                    "jobs",
                    "quotas: what each user has and uses",
                    "the plan of the next pass, and earlier passes",
                    "the audit: who changed what, when and from where",
                ),
            ),
            start=1,
        )
    ),
    Action("view-reservations", ("0",), "go", "show PBS's own reservations"),
    Action("view-migration", ("9",), "go", "show the jobs that migrate, and the other clusters", migrates=True),
    Action("view", (), "go", "show a view by name", "VIEW", "view"),
    Action(
        "server",
        (),
        "go",
        "go to another PBS server, by its name or from the list of console.toml; demo is the simulated one",
        "[NAME]",
        "server",
    ),
    Action("next-view", ("tab",), "go", "next view"),
    Action("previous-view", ("shift+tab",), "go", "previous view"),
    Action("into", ("enter",), "go", "open what the cursor is on", unavailable=_to_open),
    Action("job", (), "go", "show one job: why it waits", "JOB", "job", _needs_cluster),
    Action("output", ("o",), "go", "the output of a job; once more: the whole file in a pager", unavailable=_on_row),
    Action(
        "to-jobs",
        ("J",),
        "go",
        "to the jobs of a queue, vnode or user; of a job, those of its user",
        unavailable=_on_row,
    ),
    Action(
        "to-vnodes",
        ("V",),
        "go",
        "to the vnodes of what is marked or under the cursor: jobs, a user, a queue",
        unavailable=_on_row,
    ),
    Action("to-quotas", ("Q",), "go", "to the quotas of a queue; of a job, to its user's", unavailable=_on_row),
    Action("back", ("escape",), "go", "clear the filter, or go back"),
    Action("earlier", ("left_square_bracket",), "go", "go back to the previous place"),
    Action("later", ("right_square_bracket",), "go", "go forward again"),
    Action("up", ("up", "k"), "move", "up"),
    Action("down", ("down", "j"), "move", "down"),
    Action(
        "left",
        ("left", "h"),
        "move",
        "left: a table's columns; in quotas the queue, in plan the pass before, in job the page",
    ),
    Action(
        "right",
        ("right", "l"),
        "move",
        "right: a table's columns; in quotas the queue, in plan the pass after, in job the page",
    ),
    Action("first", ("g", "home"), "move", "first line"),
    Action("last", ("G", "end"), "move", "last line"),
    Action("page-up", ("pageup",), "move", "a page up"),
    Action("page-down", ("pagedown",), "move", "a page down"),
    Action("half-up", ("ctrl+u",), "move", "half a page up"),
    Action("half-down", ("ctrl+d",), "move", "half a page down"),
    Action(
        "filter",
        ("slash",),
        "find",
        "filter: user:alice state:Q|H ncpus:>64 !queue:gpu text, or a saved filter's name",
        "FILTER|NAME",
        "saved|field...",
        _in_table,
    ),
    Action(
        "find",
        ("ctrl+f",),
        "find",
        "search jobs, users, vnodes and queues, and go there",
        "[TEXT]",
        "user|queue",
        _needs_cluster,
    ),
    Action("save", (), "find", "save this table's filter under a name", "NAME", "saved", _in_table),
    Action("saved", ("f",), "find", "the saved filters of this table", unavailable=_in_table),
    Action("forget", (), "find", "forget a saved filter of this table", "NAME", "saved", _in_table),
    Action(
        "sort",
        ("s",),
        "find",
        "sort: s, then a column's key; the same again reverses; s s, or default, for none",
        "COLUMN",
        "column",
        _in_table,
    ),
    Action(
        "columns",
        ("c",),
        "find",
        "choose the columns: +NAME adds, -NAME removes, or all names in order, or default",
        "[+-]NAME...",
        "columns...",
        _in_table,
    ),
    Action("mark", ("space",), "find", "mark or unmark the row", unavailable=_on_row),
    Action("mark-all", ("asterisk",), "find", "mark all rows that are shown, or unmark them", unavailable=_in_table),
    Action("copy", ("y",), "find", "copy the marked names, or the one under the cursor", unavailable=_on_row),
    Action("copy-row", ("Y",), "find", "copy the marked rows, or the one under the cursor", unavailable=_on_row),
    Action(
        "export",
        (),
        "find",
        "write all rows as filtered and ordered: FILE.csv or FILE.json, ! overwrites",
        "FILE [!]",
        "",
        _in_table,
    ),
    Action(
        "unfold",
        ("x",),
        "find",
        "show or hide an array's running subjobs, a part of the plan, in quotas those without jobs",
        unavailable=_unfolds,
    ),
    Action("finished", ("F",), "find", "show the jobs that ended lately, or hide them", unavailable=_in_jobs),
    Action(
        "colour",
        ("m",),
        "find",
        "grid: colour by the next of fill, user, queue, job, gpus, temperature, walltime; or by NAME",
        "NAME",
        "colour",
        _in_grid,
    ),
    Action("rank", ("M",), "find", "grid: rank the vnodes by the next mode, or by MODE", "MODE", "rank", _in_grid),
    Action("who", ("w",), "find", "grid: colour by user, or again by how full each vnode is", unavailable=_in_grid),
    Action("unlock", ("u",), "change", "unlock for five minutes, or lock again"),
    Action("edit", ("e",), "change", "change the quota under the cursor, with a preview", unavailable=_in_quotas),
    Action("quota", (), "change", "change a quota, with a preview", "QUEUE USER CORES", "queue user", _needs_cluster),
    Action(
        "user-priority",
        ("E",),
        "change",
        "change the priority under the cursor, with a preview",
        "QUEUE USER N",
        "queue user",
        _needs_cluster,
    ),
    Action(
        "pause-pbsteer",
        (),
        "change",
        "pause pbsteer: it starts and preempts nothing, in any mode, until resumed",
        "[REASON]",
        "",
        _needs_cluster,
    ),
    Action("resume-pbsteer", (), "change", "let pbsteer start and preempt again", unavailable=_needs_cluster),
    Action("undo", ("z",), "change", "undo the last change made here, with a preview", unavailable=_undoable),
    Action("act", ("a",), "act", "menu of operations on the marked rows, or on this one", unavailable=_on_row),
    *(Action(verb.name, (), "act", verb.help, verb.usage, _completes(verb), _needs_cluster) for verb in VERBS),
    Action("ssh", ("S",), "act", "log in to the host of this vnode, or of this job", unavailable=_on_row),
    Action(
        "mgstop",
        (),
        "act",
        "stop migrating jobs wherever they are, with a preview",
        "[--discard] ID...",
        "migrating...",
        _needs_cluster,
        migrates=True,
    ),
    Action("halt", (), "act", "stop the operation under way, after the command that is being sent"),
    Action("pause-clock", ("p",), "simulated", "stop the simulated clock, or let it run", unavailable=_simulated),
    Action("step", ("full_stop",), "simulated", "run one pass, then stop the clock", unavailable=_simulated),
    Action("faster", ("plus",), "simulated", "clock faster", unavailable=_simulated),
    Action("slower", ("minus",), "simulated", "clock slower", unavailable=_simulated),
    Action("speed", (), "simulated", "simulated seconds in each second", "1..1000", "speed", _simulated),
    Action(
        "load",
        (),
        "simulated",
        "start again with the jobs of a trace (SWF or PBS accounting log, plain or gz)",
        "FILE [NODESxCORES]",
        "",
        _simulated,
    ),
    Action("refresh", ("r",), "console", "ask the server now"),
    Action("theme", (), "console", f"colours: {', '.join(THEME_NAMES)}", "NAME", "theme"),
    Action("ascii", (), "console", "draw with ASCII characters alone, or with all", "on|off", "switch"),
    Action("command", ("colon",), "console", "command line; tab completes"),
    Action("messages", (), "console", "what the line at the bottom has said, the newest first"),
    Action("help", ("question_mark",), "console", "this help"),
    Action("quit", ("q",), "console", "leave"),
)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}
SPEEDS = (1, 2, 5, 10, 30, 60, 100, 300, 1000)
SLOWEST, FASTEST = SPEEDS[0], SPEEDS[-1]


_OLD_NAMES = {"pause": "pause-clock"}


class CommandError(ValueError):
    """A command that names no action or several, lacks its argument, or has one that is not allowed there."""


@dataclass(frozen=True)
class Command:
    """A parsed command line: the action, and its argument as typed."""

    action: Action
    argument: str


def views_of(*, migrates: bool) -> tuple[str, ...]:
    """The views in their order; ``migrates``: the site has other clusters."""
    return (*VIEWS, MIGRATION, RESERVATIONS) if migrates else (*VIEWS, RESERVATIONS)


def key_of_view(view: str) -> str:
    """The key that shows a view."""
    return BY_NAME[f"view-{view}"].keys[0]


def parse_command(text: str, *, migrates: bool = True) -> Command:
    """Parse a ``:`` line. A view's name alone shows the view; a unique prefix of an action's name is enough.

    Raises :class:`CommandError` with the word and what is allowed.
    """
    word, _, argument = text.strip().partition(" ")
    there = {action.name: action for action in ACTIONS if migrates or not action.migrates}
    if word in views_of(migrates=migrates):
        return Command(BY_NAME[f"view-{word}"], "")
    word = _OLD_NAMES.get(word, word)
    found = (
        [there[word]]
        if word in there
        else [action for action in there.values() if word and action.name.startswith(word)]
    )
    if len(found) != 1:
        near = ", ".join(action.name for action in found)
        raise CommandError(f":{word} " + (f"could be {near}" if near else "is no command; ? lists them"))
    action = found[0]
    if argument.strip() and not action.argument:
        raise CommandError(f":{action.name} takes no argument, this has {argument.strip()!r}")
    return Command(action, argument.strip())


def complete(
    text: str, words: Mapping[str, Sequence[str]], *, simulated: bool = True, migrates: bool = False
) -> list[str]:
    """The possible completions of a ``:`` line; ``words`` has the candidates by kind (:attr:`Action.completes`)."""
    name, blank, argument = text.partition(" ")
    if not blank:
        actions = [action for action in ACTIONS if _is_there(action, simulated, migrates)]
        names = [action.name for action in actions if not action.name.startswith("view-")]
        return [word for word in dict.fromkeys([*views_of(migrates=migrates), *names]) if word.startswith(name)]
    action = BY_NAME.get(name)
    if action is None or not action.completes:
        return []
    *before, last = argument.split(" ")
    kinds = action.completes.split()
    at = min(len(before), len(kinds) - 1)
    if at < len(before) and not kinds[at].endswith("..."):
        return []
    head = " ".join([name, *before])
    found = (word for kind in kinds[at].replace("...", "").split("|") for word in words.get(kind, ()))
    return [f"{head} {word}" for word in found if word.startswith(last)]


class Match(NamedTuple):
    """An action that a typed word may mean, and how well the word fits: smaller is better."""

    action: Action
    rank: tuple[int, int, int]


def find_actions(word: str, *, simulated: bool = True, migrates: bool = False) -> list[Action]:
    """The actions that a typed word may mean, the best first: names that begin with it, that have it, that have its
    letters in this order, and last those whose help has it."""
    found = [
        Match(action, rank)
        for action in ACTIONS
        if _is_there(action, simulated, migrates)
        for rank in [_rank(word.lower(), action)]
        if rank is not None
    ]
    return [match.action for match in sorted(found, key=lambda match: match.rank)]


def _rank(word: str, action: Action) -> tuple[int, int, int] | None:
    name = action.name.removeprefix("view-")
    if name.startswith(word):
        return 0, len(name) if word else 0, 0
    if word in name:
        return 1, name.index(word), len(name)
    at = -1
    start = name.find(word[0])
    for letter in word:
        at = name.find(letter, at + 1)
        if at < 0:
            return (3, action.help.lower().index(word), 0) if word in action.help.lower() else None
    return 2, at - start, len(name)


def _is_there(action: Action, simulated: bool, migrates: bool) -> bool:
    return (simulated or action.group != "simulated") and (migrates or not action.migrates)


def help_text(simulated: bool, *, migrates: bool = True) -> list[tuple[str, list[Action]]]:
    """The actions by group, in order; those of the simulation only if the server is simulated, those about migrating
    jobs only if the site has other clusters."""
    groups: dict[str, list[Action]] = {}
    for action in ACTIONS:
        if _is_there(action, simulated, migrates):
            groups.setdefault(action.group, []).append(action)
    return list(groups.items())
