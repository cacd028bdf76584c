"""Long selects of one server status: equal ones are parsed once, and those of one user's waiting jobs up to a bound.

Parsing takes some milliseconds for each select at the bounds of a submission (docs/hooks.md, "Bounds"), and PBS lets a
user queue any number of jobs. Beyond the share of their owner jobs wait unparsed, and the other users' jobs are read.
"""

from __future__ import annotations

from policy.model.job_request import Request, parse_request

LONG = 1024
"""Selects of up to so many characters are remembered from pass to pass, and cost little."""

MOST_OF_USER = 4 << 20
"""So many characters of different long selects are parsed for the waiting jobs of one user."""

LEFT_UNREAD = (
    f"the different selects of more than {LONG:,} characters of its owner's waiting jobs have more than"
    f" {MOST_OF_USER:,} together, which is what a pass reads: it is read once others of them have started or are gone"
)
"""Why such a job waits."""


class LongSelects:
    """The long selects of one server status. ``left_out``: the jobs whose select is not to be parsed."""

    def __init__(self) -> None:
        self.left_out: set[str] = set()
        self._requests: dict[tuple[str, str], Request] = {}
        self._counted: set[str] = set()
        self._of_users: dict[str, int] = {}

    def may_read(self, job_id: str, user: str, select: str) -> bool:
        """Whether the select of a waiting job of this user is to be parsed."""
        if len(select) <= LONG or select in self._counted:
            return True
        length = self._of_users.get(user, 0) + len(select)
        if length > MOST_OF_USER:
            self.left_out.add(job_id)
            return False
        self._of_users[user] = length
        self._counted.add(select)
        return True

    def parse(self, select: str, place: str, consumables: frozenset[str], sizes: frozenset[str]) -> Request:
        """The request. Raises :class:`~policy.model.job_request.RequestError` where it cannot be read."""
        if len(select) <= LONG:
            return parse_request(select, place, consumables, sizes)
        found = self._requests.get((select, place))
        if found is None:
            found = self._requests[select, place] = parse_request(select, place, consumables, sizes)
        return found
