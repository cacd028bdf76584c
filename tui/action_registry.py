"""The one registry of the console's actions: its keys, the ``:`` command line (``command_line.py``) and ``?`` help are
built from it.

An action defines its name, keys, argument and help text, and a reason for the screen if it is not available. The screen
implements what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tui.config.theme_names import THEME_NAMES
from tui.operations.operation_registry import VERBS, Verb

VIEWS = ("overview", "queues", "vnodes", "grid", "jobs", "quotas", "plan", "audit")
RESERVATIONS = "reservations"
"""The view of PBS's own reservations, which has a tab only where there are some."""
MIGRATION = "migration"
"""The view that only a site with other clusters has."""


@dataclass(frozen=True)
class Situation:
    """What decides whether an action is available: the view, the lock, the cursor, the marks, and whether there is an
    undo. ``migrates``: the site has other clusters. ``gone`` is what a refresh has taken away from under the cursor, or
    what was marked, until the cursor is moved."""

    view: str
    unlocked: bool
    simulated: bool
    has_cluster: bool = True
    has_cursor: bool = False
    can_undo: bool = False
    migrates: bool = False
    has_marks: bool = False
    gone: str = ""


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
    return "" if situation.has_cursor else why_nothing(situation.gone)


def _on_rows(situation: Situation) -> str:
    there = situation.has_marks or (situation.has_cursor and not situation.gone)
    return "" if there else why_nothing(situation.gone)


def why_nothing(gone: str) -> str:
    """Why there is no row to act on; ``gone`` is what a refresh has taken away."""
    return f"{gone} is no longer there: move the cursor first" if gone else "nothing is under the cursor here"


def _to_open(situation: Situation) -> str:
    return "" if situation.has_cursor else why_nothing(situation.gone) if situation.gone else "nothing here to open"


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
    return "" if situation.can_undo else "no change made from this console is left to undo"


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
        unavailable=_on_rows,
    ),
    Action(
        "to-vnodes",
        ("V",),
        "go",
        "to the vnodes of what is marked or under the cursor: jobs, a user, a queue",
        unavailable=_on_rows,
    ),
    Action("to-quotas", ("Q",), "go", "to the quotas of a queue; of a job, to its user's", unavailable=_on_rows),
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
    Action("copy", ("y",), "find", "copy the marked names, or the one under the cursor", unavailable=_on_rows),
    Action("copy-row", ("Y",), "find", "copy the marked rows, or the one under the cursor", unavailable=_on_rows),
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
    Action("act", ("a",), "act", "menu of operations on the marked rows, or on this one", unavailable=_on_rows),
    *(Action(verb.name, (), "act", verb.help, verb.usage, _completes(verb), _needs_cluster) for verb in VERBS),
    Action("ssh", ("S",), "act", "log in to the host of this vnode, or of this job", unavailable=_on_rows),
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
    Action("background", ("ctrl+z",), "console", "back to the shell; its fg comes back here"),
    Action("quit", ("q",), "console", "leave"),
)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}
SPEEDS = (1, 2, 5, 10, 30, 60, 100, 300, 1000)
SLOWEST, FASTEST = SPEEDS[0], SPEEDS[-1]


def views_of(*, migrates: bool) -> tuple[str, ...]:
    """The views in their order; ``migrates``: the site has other clusters."""
    return (*VIEWS, MIGRATION, RESERVATIONS) if migrates else (*VIEWS, RESERVATIONS)


def key_of_view(view: str) -> str:
    """The key that shows a view."""
    return BY_NAME[f"view-{view}"].keys[0]


def is_there(action: Action, simulated: bool, migrates: bool) -> bool:
    """Whether a console has the action: on a simulated server, and where the site has other clusters."""
    return (simulated or action.group != "simulated") and (migrates or not action.migrates)


def help_text(simulated: bool, *, migrates: bool = True) -> list[tuple[str, list[Action]]]:
    """The actions by group, in order; those of the simulation only if the server is simulated, those about migrating
    jobs only if the site has other clusters."""
    groups: dict[str, list[Action]] = {}
    for action in ACTIONS:
        if is_there(action, simulated, migrates):
            groups.setdefault(action.group, []).append(action)
    return list(groups.items())
