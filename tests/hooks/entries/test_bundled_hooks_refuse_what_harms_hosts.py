"""The bundled hooks at a submission and an alteration: what PBS would carry out as root on a host is refused in every
mode."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import MODES, alter, summary_of
from tests.hooks.run_bundled_hook import Hook, submit

ONE = {"select": "1:ncpus=1"}


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_mail_address_that_is_an_option_is_refused(hook: Hook, mode: str) -> None:
    """Managers are refused too: no mail goes to such an address."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for event, given in (("queuejob", submit(**ONE)), ("modifyjob", alter(ONE, {}))):
        events = [
            {**given, "Mail_Users": "-X/home/alice/lnk"},
            {**given, "Mail_Users": "-X/home/alice/lnk", "requestor": "olga"},
            {**given, "Mail_Users": "bob@some-site.org,anna"},
        ]
        *refused, accepted = hook.run(event, events=events)["verdicts"]
        assert all("its mail address (-M) -X/home/alice/lnk begins with -" in str(each) for each in refused), refused
        assert accepted is None


@pytest.mark.parametrize("mode", MODES)
def test_an_alteration_that_pbs_could_not_show_hides_no_mail_address(hook: Hook, mode: str) -> None:
    """PBS carries out the rest of an alteration of which one text is not UTF-8."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    jobs = {"8.server": {"queue": "workq", "Job_Owner": "alice@server", "Resource_List": ONE}}
    event: dict[str, Any] = {"id": "8.server", "Resource_List": {}, "job_o": None, "Mail_Users": "-X/x"}
    (verdict,) = hook.run("modifyjob", events=[event], jobs=jobs)["verdicts"]
    assert "begins with -" in str(verdict)


WRAPPING = "1:ncpus=1:mpiprocs=2147483647+1:ncpus=1:mpiprocs=2147483647+1:ncpus=1:mpiprocs=2"
MANY: tuple[dict[str, str], ...] = (
    {"select": WRAPPING},
    {"select": "1:ncpus=1:mpiprocs=99999999"},
    {"nodes": "1:ppn=99999999"},
    {"nodes": "0" * 99 + "1"},
    {"mpiprocs": "99999999"},
    {"arch": "\"'+7:ncpus=1:mpiprocs=99999999+1:arch='"},
)


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_more_processes_than_a_mom_can_count_are_refused(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    before = {"reservation": {}, "job_o": {"Resource_List": ONE}}
    made = {"reservation": {"reserve_rrule": None, "reserve_job": None}}
    for asked in MANY:
        given: dict[str, list[dict[str, Any]]] = {
            "queuejob": [submit(**asked), {**submit(**asked), "requestor": "olga"}],
            "modifyjob": [alter(ONE, asked)],
            "resvsub": [{"Resource_List": asked, **made}],
            "modifyresv": [{"Resource_List": asked, **before}],
        }
        for event, events in given.items():
            verdicts = hook.run(event, events=events)["verdicts"]
            assert all(
                str(verdict).startswith("pbsteer: its ") or "processes" in str(verdict) for verdict in verdicts
            ), asked


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_site_may_allow_more_processes(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    many = submit(select="2:ncpus=1:mpiprocs=1000000")
    assert "2,000,000 processes" in hook.run("queuejob", events=[many])["verdicts"][0]
    settings = {"submission": {"mpiprocs": 2_000_000, "refuse_impossible": "never"}}
    assert hook.run("queuejob", events=[many], settings=settings)["verdicts"] == [None]
