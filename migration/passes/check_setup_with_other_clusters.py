"""Checks whether this cluster and each other one could exchange jobs, and names what an administrator has to correct.

It asks each cluster as a pass does, and has each try its landing folder. What only another cluster needs, such as its
own queues, is checked there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from migration.config.cluster_file import Cluster, Here
from migration.passes.remove_files_of_finished_jobs import find_unremoved
from migration.passes.source.source_context import Source
from migration.passes.target.landing_folder_check import LANDING_OF, WRITABLE, try_landing
from migration.protocol.ask_cluster_over_ssh import NoReply
from migration.protocol.installed_version import own_version
from migration.protocol.questions import AVAIL
from migration.schedulers.choose_scheduler import open_scheduler
from migration.schedulers.scheduler_interface import SchedulerSilent
from migration.transfer.ssh_and_rsync_to_source import RunAs
from policy.migration.available_to_other_clusters import Answer, Shortfall

_MOST_UNREMOVED = 10
_NAMESPACE_S = 10
MOST_SKEW_S = 60
"""Nothing is decided by another cluster's clock; people compare logs, and make compares times of files."""


class Check(NamedTuple):
    """One line: the cluster, what was checked, whether it is well, and what was seen."""

    cluster: str
    what: str
    good: bool
    text: str


def check_pairs(source: Source, run: RunAs, user: str) -> Iterator[Check]:
    """This cluster first, then each other one; landing folders as ``user``."""
    yield from _check_here(source, run, user)
    yield from _show_pauses(source.file.this, source.file.here)
    for other in source.file.others:
        yield from _check_other(source, other, user)


def _check_here(source: Source, run: RunAs, user: str) -> Iterator[Check]:
    this = source.file.this
    yield _check_queue("queue of guests", this, run)
    yield _check_queue("queue of own users", source.file.at_home, run)
    found = try_landing(run, this.landing, user)
    yield _check_landing(this, user, found)
    if found == WRITABLE:
        yield _check_namespace(this, run, user)
    yield from _show_unremoved(source)


def _check_namespace(this: Cluster, run: RunAs, user: str) -> Check:
    own = run(["namespace"], user=user, timeout_s=_NAMESPACE_S).text.strip() == "own"
    good = "a PID namespace of their own: nothing of them is left at their end"
    bad = "no PID namespace, which this kernel refuses: ended by their group and parent, as far as that goes"
    return Check(this.name, "processes as users", good=True, text=good if own else bad)


def _show_unremoved(source: Source) -> Iterator[Check]:
    found = list(find_unremoved(source.spool))
    for record, noted in found[:_MOST_UNREMOVED]:
        in_s = max(0, noted.next - int(source.clock()))
        text = f"{record.gid} of {record.account}, tried {noted.tries} times, again in {in_s} s: {noted.text}"
        yield Check(source.this, "folder not removed", good=False, text=text)
    if len(found) > _MOST_UNREMOVED:
        more = f"{len(found)} jobs that are over have folders that could not be removed"
        yield Check(source.this, "folders not removed", good=False, text=more)


def _show_pauses(this: Cluster, here: Here) -> Iterator[Check]:
    """Pauses are no errors; they are shown because they are easily forgotten."""
    for key, names in (("pause_sending_to", here.pause_sending_to), ("pause_taking_from", here.pause_taking_from)):
        if names:
            yield Check(this.name, key, good=True, text=", ".join(names))


def _check_landing(cluster: Cluster, user: str, found: str) -> Check:
    good = found == WRITABLE
    result = f"{user} can write there" if good else found or f"{cluster.name} does not say: its pbsteer is older"
    return Check(cluster.name, "landing folder", good, f"{cluster.landing}: {result}" if cluster.landing else result)


def _check_queue(what: str, cluster: Cluster, run: RunAs) -> Check:
    try:
        free = open_scheduler(cluster, run).free()
    except SchedulerSilent as silence:
        return Check(cluster.name, what, good=False, text=str(silence))
    return Check(cluster.name, what, good=True, text=f"{cluster.queue}: {free.idle} of {free.cores} cores idle")


def _check_other(source: Source, other: Cluster, user: str) -> Iterator[Check]:
    if not other.key:
        yield Check(other.name, "key", good=False, text="cluster.toml has no key of it: it cannot send jobs here")
    if not other.send:
        yield Check(other.name, "send", good=True, text="send = false: no job of this cluster goes there")
        return
    begun = time.time()
    try:
        reply = source.ask(other.name, AVAIL, {"v": 1, LANDING_OF: user})
    except NoReply as silence:
        yield Check(other.name, "answers", good=False, text=f"{other.ssh}: {silence}")
        return
    if not isinstance(reply, Answer):
        yield Check(other.name, "answers", good=False, text=f"{other.ssh}: answered something else")
        return
    took_s = time.time() - begun
    free = f"{reply.avail} of {reply.cores} cores free for any job"
    if reply.paused:
        free = Shortfall("paused").sentence()
    yield Check(other.name, "answers", good=True, text=f"{other.ssh}, {reply.scheduler}: {free}; {took_s:.1f} s")
    skew_s = reply.time - (begun + took_s / 2)
    yield Check(other.name, "clock", abs(skew_s) <= MOST_SKEW_S + took_s, f"{round(skew_s):+d} s from the one here")
    versions = f"{reply.version or 'unknown'} there, {own_version() or 'unknown'} here"
    yield Check(other.name, "version", reply.version == own_version(), versions)
    yield _check_landing(other, user, reply.landing)
