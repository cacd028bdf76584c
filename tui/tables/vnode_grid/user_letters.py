"""The users on the vnodes: a letter for each of those with the most cores, which the grid shows instead of heights.

Letters are assigned by cores in use over all vnodes, the most first; users without a letter share ``+``. The letters
are capitals, so none is that of a vnode state.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import NamedTuple

from tui.model.typed_attributes import RUNNING_STATES, user_of
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import safe, width

OTHERS = "+"
_CHUNK = re.compile(r"\(?([^:()+]+)((?::[^:()+]+)*)")


class Occupants(NamedTuple):
    """Cores by vnode and user, each user's letter, and each user's cores over all vnodes."""

    cores: Mapping[str, Mapping[str, int]]
    letters: Mapping[str, str]
    totals: Mapping[str, int]

    def letter(self, vnodes: Iterable[str]) -> str:
        """The letter of the user with the most cores on these vnodes; empty if no user has any."""
        held = self._held(vnodes)
        return self.letters.get(held[0][0], OTHERS) if held else ""

    def most(self, vnodes: Iterable[str]) -> str:
        """The user with the most cores on these vnodes; empty if no user has any."""
        held = self._held(vnodes)
        return held[0][0] if held else ""

    def rank(self, user: str) -> int:
        """The place of a user among those with letters, from 0; the number of letters for others."""
        letter = self.letters.get(user)
        return len(ascii_uppercase) if letter is None else ascii_uppercase.index(letter)

    def describe(self, vnodes: Iterable[str]) -> str:
        """The users on these vnodes, with letters and cores, the most first."""
        parts = [f"{self.letters.get(user, OTHERS)} {safe(user)} {cores:,}" for user, cores in self._held(vnodes)]
        return " · ".join(parts) or "no user has cores there"

    def _held(self, vnodes: Iterable[str]) -> list[tuple[str, int]]:
        held: Counter[str] = Counter()
        for name in vnodes:
            held.update(self.cores.get(name, {}))
        return sorted(held.items(), key=lambda each: (-each[1], each[0]))

    def legend(self, cells: int) -> str:
        """The users of the letters, as many as fit: with their cores if all fit so, else by name alone."""
        users = [*self.letters]
        with_cores = self._entries(users, with_cores=True)
        if width(_joined(with_cores)) <= cells:
            return _joined(with_cores)
        return _joined(self._entries(users[: self._named(cells)]))

    def legend_rest(self, cells: int) -> str:
        """The users of the letters for which :meth:`legend` has no room in so many cells."""
        users = [*self.letters]
        if width(_joined(self._entries(users, with_cores=True))) <= cells:
            return ""
        return _joined(self._entries(users[self._named(cells) :], with_cores=True))

    def _named(self, cells: int) -> int:
        """How many users a legend of names alone has room for."""
        entries = self._entries([*self.letters])
        return next((count for count in range(len(entries), 0, -1) if width(_joined(entries[:count])) <= cells), 0)

    def _entries(self, users: Sequence[str], *, with_cores: bool = False) -> list[str]:
        return [
            f"{self.letters[user]} {safe(user)}" + (f" {self.totals[user]:,}" if with_cores else "") for user in users
        ]


def _joined(entries: Sequence[str]) -> str:
    return " · ".join(entries)


def occupants(
    cluster: ClusterView, name_of: Callable[[str, Mapping[str, str]], str] = lambda _, attributes: user_of(attributes)
) -> Occupants:
    """The users on each vnode, from the allocations of the running jobs; or what else ``name_of`` a job's id and
    attributes gives."""
    cores: dict[str, Counter[str]] = defaultdict(Counter)
    totals: Counter[str] = Counter()
    amount = re.compile(rf":{re.escape(cluster.counted)}=(\d+)")
    for job_id, attributes in cluster.server_status.jobs.items():
        exec_vnode = attributes.get("exec_vnode", "")
        if not exec_vnode or attributes.get("job_state") not in RUNNING_STATES:
            continue
        user = name_of(job_id, attributes)
        for name, amounts in _CHUNK.findall(exec_vnode):
            found = amount.search(amounts)
            if found:
                cores[name][user] += int(found[1])
                totals[user] += int(found[1])
    letters = dict(zip(sorted(totals, key=lambda user: (-totals[user], user)), ascii_uppercase))
    return Occupants(cores, letters, totals)
