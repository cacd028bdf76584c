"""Which jobs have something to do, in which order, and how many of a user."""

from __future__ import annotations

from dataclasses import replace

from migration.spool.file_lock import path_lock
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import Job
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease
from migration.target_job.jobs_with_something_to_do import find_needy, find_turns
from migration.target_job.service_context import Site
from tests.migration.target_job.fake_target import FakeTarget


def limited(target: FakeTarget, uploads: int, of_user: int) -> Site:
    limits = replace(target.site.file.limits, max_uploads=uploads, max_transfers_per_user=of_user)
    return replace(target.site, file=replace(target.site.file, limits=limits))


def turns(site: Site) -> list[str]:
    return list(find_turns(site, site.spool.read(Queue.RECEIVED)))


def needy(site: Site) -> list[str]:
    return [record.gid for record in find_needy(site)]


def test_uploads_of_one_user_leave_places_for_others(target: FakeTarget) -> None:
    site = limited(target, 3, 2)
    target.put(gid="a.1", state="Uploading")
    for number, account in enumerate(("alice", "alice", "bob", "bob"), 2):
        target.put(gid=f"a.{number}", state="Waiting", account=account)
    assert turns(site) == ["a.2", "a.4"]
    Job(site, "a.1").set_due(60)
    assert turns(site) == ["a.2", "a.3", "a.4"]


def test_jobs_whose_shared_file_another_one_brings_rest_until_it_is_there(target: FakeTarget) -> None:
    site = limited(target, 2, 2)
    for number in (1, 2, 3):
        target.put(gid=f"a.{number}", state="Uploading" if number < 3 else "Waiting")
    Job(site, "a.2").set_awaited("/land/alice/a/data/m")
    with hold_lease(site.spool.job_folder("a.1")), path_lock(site.home, "/land/alice/a/data/m", 0):
        assert needy(site) == ["a.3"]
        target.now_s += site.file.limits.upload_timeout_s - 1
        assert needy(site) == ["a.3"]
        target.now_s += 1
        assert needy(site) == ["a.2"], "its own time is over: it goes back"
        target.now_s -= 1
    assert needy(site) == ["a.1", "a.2"], "the uploads under way come first"


def test_what_an_upload_waited_for_keeps_no_later_step_back(target: FakeTarget) -> None:
    target.put(state="Downloading")
    Job(target.site, "a.1").set_awaited("/land/alice/a/data/m")
    with path_lock(target.site.home, "/land/alice/a/data/m", 0):
        assert needy(target.site) == ["a.1"]


def test_of_waiting_jobs_those_have_something_to_do_whose_turn_it_is(target: FakeTarget) -> None:
    site = limited(target, 2, 1)
    for number, account in enumerate(("alice", "alice", "bob", "carol"), 1):
        target.put(gid=f"a.{number}", state="Waiting", account=account)
    assert needy(site) == ["a.1", "a.3"]


def test_of_jobs_that_transfer_there_are_few_with_those_that_are_worked_on(target: FakeTarget) -> None:
    site = limited(target, 1, 1)
    for number in range(1, 6):
        target.put(gid=f"a.{number}", state="Downloading")
    site = replace(site, file=replace(site.file, limits=replace(site.file.limits, max_downloads=1)))
    assert needy(site) == ["a.1", "a.2"]
    with hold_lease(site.spool.job_folder("a.4")):
        assert needy(site) == ["a.1"]
