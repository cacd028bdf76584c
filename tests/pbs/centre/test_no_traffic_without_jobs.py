"""A site at rest sends no message: counted in bytes on the real link, in both directions."""

from __future__ import annotations

import time

import pytest

from container.centre import centre as centres
from tests.pbs.centre.act_as_user_and_service import SiteUser
from tests.pbs.idle_machine_deadline import Deadline

pytestmark = pytest.mark.centre_faults
_PASSES = 10
"""Among so many one asks clusters that were silent, and looks for jobs that were resumed."""
_QUIET_FOR_S = 8
"""Some seconds after programs have used a link, the kernel asks once more which card an address has."""


def test_passes_without_anything_to_move_send_nothing(pbs_user: SiteUser) -> None:
    """Before any job, after one has ended, with a job that stays at home, and as a user looks at them."""
    there = pbs_user._replace(source="b", target="a")

    def sent() -> tuple[int, int]:
        return pbs_user.sent_bytes(), there.sent_bytes()

    def wait_for_quiet() -> tuple[int, int]:
        deadline = Deadline(60)
        while True:
            before = sent()
            time.sleep(_QUIET_FOR_S)
            if sent() == before:
                return before
            assert not deadline.has_passed(), before

    def rest(passes: int) -> None:
        before = wait_for_quiet()
        for _ in range(passes):
            pbs_user.send()
        for letter, program in (("a", "mgrecv"), ("b", "mgsched"), ("b", "mgrecv")):
            centres.run_pass(pbs_user.centre, letter, pbs_user.programs, program, timeout_s=300)
        pbs_user.jobs()
        assert sent() == before

    rest(1)
    job = pbs_user.wait_for(pbs_user.submit(pbs_user.folder("over", "exit 0"), "-t", "b"))
    assert (job["exit"], job["dst"]) == ("0", "b"), job
    assert pbs_user.sent_bytes() > 1_000
    rest(_PASSES)
    with pbs_user.full():
        ticket = pbs_user.submit(pbs_user.folder("stays", "exit 0"), "-t", "local")
        rest(2)
        assert pbs_user.job(ticket)["state"] == "Requested"
