"""The target's side of a hand-over: tests whether the cluster would start an offered job now, and accepts or refuses
it.

The test runs the scheduler's programs, so it is made without the lock; cores promised meanwhile are subtracted under
it. A repeated offer gets the same answer, so a lost answer costs nothing.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import replace

from migration.as_user.helper.refused_accounts import find_refusal as find_account_rule
from migration.as_user.helper.refused_accounts import read_first_uid
from migration.as_user.user_files.fit_file_name import fit_path
from migration.config.cluster_file import Here
from migration.passes.promised_cores import find_in_flight
from migration.programs.run_external_program_with_limits import run
from migration.protocol.installed_version import own_version
from migration.protocol.replies import Busy, Failed, Refused, Reply, Taken
from migration.schedulers.scheduler_interface import SchedulerSilent, Verdict
from migration.spool.queue_file import Queue
from migration.spool.spool import Change
from migration.target_job.job_at_target import key_path
from migration.target_job.phases.local_job_script import make_local_job, write_script
from migration.target_job.service_context import Site
from policy.migration.available_to_other_clusters import Answer, FreeNodes, find_shortfall, make_answer
from policy.migration.job_demand import find_demand_problem
from policy.migration.job_record_and_copy_updates import Record, advance, split_gid
from policy.migration.job_states_and_transitions import OFFERED, REQUESTED

_KEYGEN_S = 30
_LONGEST_PATH = 4_096
_ROOM_FOR_FILES = 300
"""The length that a job's folder leaves for the path of a file in it."""


def accept(site: Site, cluster: str, offer: Record) -> Reply:
    """The reply to an offer by ``cluster``."""
    refused = find_refusal(site, cluster, offer)
    if refused is not None:
        return refused
    with site.spool.change() as change:
        known = _repeat(change, offer)
    if known is not None:
        return known
    crowded = _find_crowd(site, offer)
    if crowded is not None:
        return crowded
    record = _as_here(site, offer)
    try:
        free = site.scheduler.free()
        verdict = site.scheduler.would_start_now(make_local_job(record)._replace(cwd="/"))
    except SchedulerSilent as silent:
        return Failed(str(silent)[:300])
    busy = _find_busy(site, record, free, verdict, site.spool.read(Queue.RECEIVED))
    if busy is not None:
        return busy
    record = replace(record, datakey=_make_key(site, record))
    with site.spool.change() as change:
        received = change.records(Queue.RECEIVED)
        again = _repeat(change, offer) or _find_busy(site, record, free, verdict, received)
        if again is not None:
            return again
        taken = advance(_with_own_folder(site, record, change), "accepted", site.now())
        change.put(Queue.RECEIVED, taken)
        change.remove(Queue.DONE, taken.gid)
    return Taken(taken, taken.datakey)


def _find_crowd(site: Site, offer: Record) -> Refused | None:
    """The refusal if too many ended jobs of the user still have files here, so that none of their records may be
    dropped; None if there are fewer."""
    most = site.file.limits.max_ended_per_user
    ended = [one for one in site.spool.read(Queue.DONE) if (one.src, one.user) == (offer.src, offer.user)]
    if len(ended) < most or sum(site.spool.job_folder(one.gid).exists() for one in ended) < most:
        return None
    return Refused("crowd", f"{most:,} ended jobs of this user are not cleared here yet", lasting=False)


def _find_busy(site: Site, record: Record, free: FreeNodes, verdict: Verdict, received: list[Record]) -> Busy | None:
    """Why the job would not start now; None if it would."""
    answer = answer_now(site, record.src, free, received)
    shortfall = find_shortfall(answer, record.demand)
    if shortfall is not None:
        return Busy(shortfall.sentence(), answer)
    return Busy(verdict.text[:300]) if verdict.now is False else None


def answer_now(site: Site, cluster: str, free: FreeNodes, received: list[Record]) -> Answer:
    """What is free here for jobs of ``cluster``, less what was promised; nothing while taking them is paused."""
    this, limits = site.file.this, site.file.limits
    promised = find_in_flight(received, site.now())
    # Each source has its own places, so that none takes those of another; the cores are promised to all.
    others = find_in_flight((one for one in received if one.src != cluster), site.now())
    most = limits.max_in_flight_per_target + len(others)
    answer = make_answer(this.name, free, promised, most, arch=this.arch, time=int(site.now()), version=own_version())
    if site.file.here.takes_from(cluster):
        return answer
    return answer._replace(avail=0, avail_before_head=0, slots=0, paused=True)


def find_refusal(site: Site, cluster: str, offer: Record) -> Refused | None:
    """Why this job is never taken here; None if it may be."""
    here = site.file.here
    if offer.src != cluster or split_gid(offer.gid)[0] != cluster:
        return Refused("src", f"{offer.gid}: is not a job of cluster {cluster}")
    if offer.dst != site.file.this.name or offer.state != OFFERED or offer.attempt < 1:
        return Refused("record", f"{offer.gid}: is not offered to cluster {site.file.this.name}")
    problem = find_demand_problem(offer.cores, offer.nodes, offer.mem, offer.gpus, offer.walltime)
    if not problem and not _is_canonical(offer.dir):
        problem = f"folder {offer.dir!r:.100}: must be an absolute path without . and .."
    if not problem and (not offer.prog or "\0" in offer.prog + "".join((*offer.args, *offer.env, *offer.build))):
        problem = "program: must be named, without NUL bytes"
    if not problem:
        problem = _find_script_problem(offer)
    if problem:
        return Refused("record", problem)
    refused = find_account_refusal(here, cluster, offer.user)
    if refused is not None:
        return refused
    length = len(os.fsencode(_folder_here(site, offer, here.account(cluster, offer.user))))
    if length + _ROOM_FOR_FILES > _LONGEST_PATH:
        most = _LONGEST_PATH - _ROOM_FOR_FILES
        return Refused("path", f"the path of the job's folder would have {length:,} bytes here: at most {most:,}")
    if offer.arch and not offer.build and site.file.this.arch and offer.arch != site.file.this.arch:
        return Refused("arch", "the program was built for another kind of processor, and there is no build command")
    return None


def find_account_refusal(here: Here, cluster: str, user: str) -> Refused | None:
    """Why no job of this user of the cluster may run here; None if it may."""
    account = here.account(cluster, user)
    try:
        found = pwd.getpwnam(account) if account else None
    except KeyError:
        found = None
    if found is None or found.pw_uid == os.getuid():
        return Refused("no-account", "no account")
    rule = find_account_rule(found, here, max(here.min_uid, read_first_uid()))
    return Refused("no-account", f"no account: {rule}") if rule else None


def _find_script_problem(offer: Record) -> str:
    try:
        write_script(offer)
    except ValueError as error:
        return str(error)
    return ""


def _repeat(change: Change, offer: Record) -> Reply | None:
    """The answer where the job is known already; None if this attempt is new."""
    found = change.find(offer.gid)
    if found is None:
        return None
    queue, record = found
    if queue is Queue.RECEIVED and record.attempt == offer.attempt:
        return Taken(record, record.datakey)
    if queue is Queue.DONE and record.state == REQUESTED and record.attempt < offer.attempt:
        return None
    return Refused("attempt", f"{offer.gid}: attempt {record.attempt} is {record.state} here", lasting=False)


def _as_here(site: Site, offer: Record) -> Record:
    """The record with what this cluster decides; what the source alone knows is left behind."""
    account = site.file.here.account(offer.src, offer.user)
    return replace(
        offer, account=account, dstdir=_folder_here(site, offer, account), localid="", ran=0, requeues=0, exit="",
        then="", reason="", stop="", fallback="", ticket="", datakey="", uploaded_bytes=0, shared_bytes=0,
        downloaded_bytes=0, tries=0,
    )  # fmt: skip


def _folder_here(site: Site, offer: Record, account: str) -> str:
    return f"{site.file.this.landing}/{account}/{offer.src}{offer.dir}"


def _with_own_folder(site: Site, record: Record, change: Change) -> Record:
    """The record with a folder of its own: no other job has files in it, above it or below it, neither one that is
    under way nor one that is over and of which files are kept. Or results that are not back yet could be lost, and this
    job would find files there that its user has removed.

    The job's id is added where the two would meet, so that what is beside a folder stays beside it where it can. An
    attempt that was given back has run nothing, and its upload goes on in its folder.
    """
    own, earlier = record.dstdir, change.find(record.gid)
    if earlier is not None and earlier[1].dstdir.startswith(f"{site.file.this.landing}/{record.account}/"):
        own = earlier[1].dstdir
    others = [one for one in change.records(Queue.RECEIVED) if _overlap(one.dstdir, own)]
    ended = [one for one in change.records(Queue.DONE) if one.gid != record.gid and _overlap(one.dstdir, own)]
    others += [one for one in ended if site.spool.job_folder(one.gid).exists()]
    if others:
        meeting = min((own, *(one.dstdir for one in others)), key=len)
        own = fit_path(meeting, f".{record.gid}") + own[len(meeting) :]
    return replace(record, dstdir=own)


def _overlap(one: str, other: str) -> bool:
    """Whether one of the paths is the other, or is below it; an empty one is no path."""
    return bool(one) and (f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/"))


def _make_key(site: Site, record: Record) -> str:
    """The public half of the key for this attempt's data; the private half stays in the job's folder."""
    folder = site.spool.job_folder(record.gid)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.parent.chmod(0o755)
    path = key_path(site, record)
    if not path.with_name(f"{path.name}.pub").exists():
        path.unlink(missing_ok=True)
        # Of a key in this format ssh shows the public half only by what it signs: sshd asks for it once, not twice.
        kind = ["-t", "ecdsa", "-b", "256", "-m", "PEM"]
        done = run(["ssh-keygen", "-q", *kind, "-N", "", "-C", "", "-f", str(path)], timeout_s=_KEYGEN_S)
        if done.status:
            raise OSError(f"ssh-keygen: {done.problem}")
    return path.with_name(f"{path.name}.pub").read_text("ascii").strip()


def _is_canonical(path: str) -> bool:
    return (
        len(path) <= _LONGEST_PATH
        and path.startswith("/")
        and os.path.normpath(path) == path
        and len(path) > 1
        and not path.startswith("//")
        and "\0" not in path
    )
