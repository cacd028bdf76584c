"""The possible victims on some vnodes, in the orders in which they are offered, with sums by user and class
(docs/policies.md, "The order of the victims").

They only become fewer in a pass: what each owner may lose shrinks with each victim.
"""

from __future__ import annotations

from policy.eligibility.soft_quotas import Counted, Owner
from policy.model.jobs_runs_vnodes_queues import Run
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptibleSums
from policy.preemption.victim_search import Size


class Pool:
    """The possible victims on some vnodes.

    ``ordered``: in the configured order; ``giving``: of these the runs of owners from whom rule A could take some, each
    with how entries count it; ``sizes``: by size, with the index in ``ordered``; ``by_class``: lowest class first;
    ``kinds``: by queue and the class at start. ``owners``: the owner by whose entries each run counts. ``counted``: the
    cores of each run over quota. ``spares``: how much rule A may take from each owner. ``in_classes``: cores by queue
    and class. ``exempt``: the runs still in their exempt time.
    """

    __slots__ = (
        "_most", "_most_of_all", "_of_users", "_owners", "by_class", "counted", "exempt", "giving",
        "in_classes", "kinds", "ordered", "owners", "sizes", "spares", "sums",
    )  # fmt: skip

    def __init__(self) -> None:
        self.ordered: list[Run] = []
        self.sizes: list[tuple[Size, int]] = []
        self.giving: list[tuple[Run, Counted]] = []
        self.by_class: list[Run] = []
        self.kinds: dict[tuple[str, int], list[Run]] = {}
        self.counted: dict[str, int] = {}
        self.owners: dict[str, Owner] = {}
        self.spares: dict[Owner, int] = {}
        self.in_classes: dict[tuple[str, int], int] = {}
        self.exempt: list[Run] = []
        self.sums: PreemptibleSums | None = None
        # Sums by user, as they are needed for every job that may preempt.
        self._of_users: dict[str, int] = {}
        self._owners: dict[str, list[Owner]] | None = None
        self._most: dict[str, int] = {}
        self._most_of_all: int | None = None

    def note_over(self, run: Run, cores: int) -> None:
        """Note a run over quota, with its cores on these vnodes."""
        user = run.job.user
        self.counted[run.id] = cores
        self._of_users[user] = self._of_users.get(user, 0) + cores

    def count_out(self, run: Run, owner: Owner, need: int) -> None:
        """Take the run out of the possible victims; its owner holds ``need`` less."""
        if self.sums is not None:
            self.sums.count_out(run)
        user = run.job.user
        cores = self.counted.pop(run.id, 0)
        if cores:
            self._of_users[user] -= cores
        if self.spares.get(owner, 0) > 0:
            self.spares[owner] -= need
        if self._most_of_all is not None:
            before = self._most.pop(user, 0)
            self._most_of_all += self._most_of(user) - before

    def most_by_quota(self, user: str) -> int:
        """The most cores that rule A could take from users other than this one: no owner gives more than is spare."""
        if self._most_of_all is None:
            self._most_of_all = sum(self._most_of(each) for each in self._over_by_user())
        return self._most_of_all - self._most_of(user)

    def gives_of(self, user: str) -> str:
        """The user's name if rule A may take from an owner with this user's runs; else "". Rule A offers the same runs
        to all users with the same result, so it serves as a cache key."""
        return user if any(self.spares[owner] > 0 for owner in self._over_by_user().get(user, ())) else ""

    def _over_by_user(self) -> dict[str, list[Owner]]:
        """The owners over quota, by user. None is added once the pool is made."""
        if self._owners is None:
            self._owners = {}
            for owner, spare in self.spares.items():
                if spare > 0:
                    self._owners.setdefault(owner[1], []).append(owner)
        return self._owners

    def _most_of(self, user: str) -> int:
        """The most cores that rule A could take from this user."""
        most = self._most.get(user)
        if most is None:
            cores = self._of_users.get(user, 0)
            most = sum(min(max(0, self.spares[owner]), cores) for owner in self._over_by_user().get(user, ()))
            self._most[user] = most
        return most
