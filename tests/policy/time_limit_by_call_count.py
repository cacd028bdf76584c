"""A deadline that counts how often it is asked, so that tests need no clock."""

from __future__ import annotations

from policy import Job


class Countdown:
    """Over once it was asked ``left`` times; a user's share is that the jobs of this user were asked about ``share``
    times. None: never."""

    def __init__(self, left: int | None = None, share: int | None = None) -> None:
        self._left = left
        self._share = share
        self._user = ""
        self._taken: dict[str, int] = {}
        self.asked = 0

    def begin(self, job: Job) -> None:
        self._user = job.user

    def end(self) -> None:
        self._user = ""

    def is_over(self) -> bool:
        self.asked += 1
        self._taken[self._user] = self._taken.get(self._user, 0) + 1
        return self._left is not None and self.asked > self._left

    def is_share_spent(self, user: str) -> bool:
        return self._share is not None and self._taken.get(user, 0) > self._share
