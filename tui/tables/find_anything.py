"""One search over queues, users, vnodes and jobs: names and ids that are, begin with or contain the typed text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policy.model.pbs_units import show_count, show_job
from tui.model.job_state_and_exit_status_words import state_words
from tui.model.typed_attributes import amount, state_in_words, user_of
from tui.state.cluster_view import ClusterView

QUEUE, USER, VNODE, JOB = "queue", "user", "vnode", "job"
_KINDS = (QUEUE, USER, VNODE, JOB)
_MOST = 200


class Found(NamedTuple):
    """Something that was found: its kind, the manager's name, the name as it is shown, and what it is."""

    kind: str
    name: str
    shown: str
    about: str


class _Candidate(NamedTuple):
    kind: str
    name: str
    shown: str
    texts: tuple[str, ...]


class Everything:
    """All that can be found on a server, prepared once for many searches."""

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster
        self._all = list(_candidates(cluster))

    def find(self, text: str) -> list[Found]:
        """What the text names, the best first, queues and users before vnodes and jobs; at most 200."""
        wanted = text.strip().lower()
        if not wanted:
            return []
        ranked: list[tuple[int, int, int]] = []
        for number, candidate in enumerate(self._all):
            ranks = [_rank(wanted, each) for each in candidate.texts if wanted in each]
            if ranks:
                ranked.append((min(ranks), _KINDS.index(candidate.kind), number))
        ranked.sort()
        return [self._describe(self._all[number]) for _, _, number in ranked[:_MOST]]

    def _describe(self, candidate: _Candidate) -> Found:
        kind, name, shown, _ = candidate
        return Found(kind, name, shown, _about(self._cluster, kind, name))


def _candidates(cluster: ClusterView) -> Iterator[_Candidate]:
    for queue in cluster.server_status.queues:
        yield _Candidate(QUEUE, queue, queue, (queue.lower(),))
    for user in dict.fromkeys(user for _, user in cluster.counts.users):
        yield _Candidate(USER, user, user, (user.lower(),))
    for vnode in cluster.vnode_names:
        yield _Candidate(VNODE, vnode, vnode, (vnode.lower(),))
    for job in cluster.job_ids:
        texts = cluster.job(job) or {}
        shown = show_job(job)
        yield _Candidate(JOB, job, shown, (shown.lower(), texts.get("Job_Name", "").lower()))


def _rank(wanted: str, text: str) -> int:
    return 0 if text == wanted else 1 if text.startswith(wanted) else 2


def _about(cluster: ClusterView, kind: str, name: str) -> str:
    """What it is, in a few words."""
    if kind == JOB:
        texts = cluster.job(name) or {}
        cores = show_count(amount(texts, f"Resource_List.{cluster.counted}"), "core")
        parts = (user_of(texts), texts.get("Job_Name", ""), cores, state_words(texts.get("job_state", "")))
        return " · ".join(part for part in parts if part)
    if kind == VNODE:
        return state_in_words(cluster.server_status.vnodes.get(name, {}), cluster.counted)
    if kind == USER:
        jobs = sum(user_of(texts) == name for texts in cluster.server_status.jobs.values())
        return show_count(jobs, "job")
    states: dict[str, int] = dict(cluster.counts.queue_states.get(name) or {})
    return show_count(sum(states.values()), "job")
