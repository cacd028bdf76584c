"""Answers another cluster: one verb, one reply. A cluster may act only on its own jobs."""

from __future__ import annotations

from dataclasses import replace

from migration.passes.target.accept_or_refuse_offer import accept, answer_now, find_account_refusal
from migration.passes.target.landing_folder_check import LANDING_OF, try_landing
from migration.protocol.message_lines_and_fields import from_line_bytes
from migration.protocol.questions import ACCEPT, AVAIL, QUERY, WITHDRAW, About, Hand, Query
from migration.protocol.replies import Failed, Reply, State, States, Unknown, states_that_fit
from migration.schedulers.scheduler_interface import SchedulerSilent
from migration.spool.queue_file import Queue
from migration.target_job.service_context import Site
from policy.migration.job_record_and_copy_updates import Record, advance, split_gid
from policy.migration.job_states_and_transitions import REQUESTED, WAITING
from policy.model.printable_text import printable

STOP, DISCARD = "stop", "discard"
"""The value of a record's ``stop``."""

_MOST_WITHDRAWN = 1_000
"""Withdrawn jobs that never came, kept of each cluster."""

_MOST_LANDING = 200


def serve(site: Site, cluster: str, verb: str, body: bytes) -> Reply:
    """The reply to a verb of ``cluster``. Raises :class:`~migration.protocol.message_lines_and_fields.MessageError`."""
    if verb == AVAIL:
        return _avail(site, cluster, body)
    data = from_line_bytes(body)
    if verb == ACCEPT:
        return accept(site, cluster, Hand.from_data(data, site.now()).record)
    if verb == QUERY:
        return _query(site, cluster, Query.from_data(data))
    about = About.from_data(data)
    if split_gid(about.gid)[0] != cluster:
        return Failed(f"{about.gid}: is not a job of cluster {cluster}")
    return _withdraw(site, about) if verb == WITHDRAW else stop(site, about)


def _avail(site: Site, cluster: str, body: bytes) -> Reply:
    try:
        free = site.scheduler.free()
    except SchedulerSilent as silent:
        return Failed(str(silent)[:300])
    answer = answer_now(site, cluster, free, site.spool.read(Queue.RECEIVED))
    return answer._replace(landing=_try_landing(site, cluster, from_line_bytes(body))) if body else answer


def _try_landing(site: Site, cluster: str, asked: object) -> str:
    """Whether a user of the cluster can have files here, for ``pbsteer migrate check``."""
    user = asked.get(LANDING_OF) if isinstance(asked, dict) else None
    if not isinstance(user, str):
        return ""
    here = site.file.here
    refused = find_account_refusal(here, cluster, user)
    if refused is not None:
        return refused.text
    found = try_landing(site.run, site.file.this.landing, here.account(cluster, user))
    return printable(found)[:_MOST_LANDING]


def _query(site: Site, cluster: str, query: Query) -> States:
    known: dict[str, Record] = {}
    for queue in (Queue.DONE, Queue.RECEIVED):
        known.update((record.gid, record) for record in site.spool.read(queue) if record.src == cluster)
    found = [known[gid] for gid in query.gids if gid in known and not is_never_had(known[gid])]
    there = {record.gid for record in found}
    return states_that_fit(found, [gid for gid in query.gids if gid not in there], site.now())


def is_never_had(record: Record) -> bool:
    """Whether the record says only that this attempt is refused from now on."""
    return record.state == REQUESTED and not record.dstdir


def _withdraw(site: Site, about: About) -> Reply:
    with site.spool.change() as change:
        found = change.find(about.gid)
        if found is not None:
            queue, record = found
            if record.attempt > about.attempt or (record.attempt == about.attempt and is_never_had(record)):
                return Unknown(about.gid, about.attempt)
            if record.attempt == about.attempt or queue is Queue.RECEIVED:
                return State(record)
        source = split_gid(about.gid)[0]
        noted = sum(one.src == source and is_never_had(one) for one in change.records(Queue.DONE))
        if found is None and noted >= _MOST_WITHDRAWN:
            return Failed(f"{noted:,} withdrawn jobs of cluster {source} are noted: no more are")
        refused = Record(
            gid=about.gid, src=source, dst=site.file.this.name, attempt=about.attempt,
            since=int(site.now()), created=int(site.now()), reason="withdrawn before it came",
        )  # fmt: skip
        change.put(Queue.DONE, refused)
    return Unknown(about.gid, about.attempt)


def stop(site: Site, about: About) -> Reply:
    """Note that the job is to stop; its own process sees it. A job that waits is stopped at once."""
    with site.spool.change() as change:
        found = change.find(about.gid)
        if found is None or found[1].attempt != about.attempt or is_never_had(found[1]):
            return Unknown(about.gid, about.attempt)
        queue, record = found
        if queue is not Queue.RECEIVED:
            return State(record)
        record = replace(record, stop=DISCARD if about.discard or record.stop == DISCARD else STOP)
        if record.state == WAITING:
            record = advance(record, STOP, site.now(), reason="stopped before anything was done")
            change.move(Queue.RECEIVED, Queue.DONE, record)
        else:
            change.put(Queue.RECEIVED, record)
    return State(record)
