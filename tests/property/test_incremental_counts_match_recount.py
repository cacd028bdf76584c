"""What is counted, grouped and kept in step is what looking anew, one by one, would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy import Ledger, Run, Settings, Vnode
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Quotas
from policy.fit.best_fit import fit, fits
from policy.model.job_request import Request, parse_request
from policy.model.priority_class import BASE
from policy.preemption.preemptible_sums_by_owner_and_class import PreemptibleAmount, PreemptibleSums, PreemptionRights
from policy.state.free_per_host import HostSums
from policy.state.vnodes_by_idle_cores import Capacity
from tests.property.strategies.cluster_strategies import (
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    places,
    selects,
)
from tests.property.strategies.settings_strategies import all_settings

RESOURCES = ("ncpus", "mem", "ngpus", "licences")


def requests() -> st.SearchStrategy[Request]:
    return st.builds(parse_request, selects(), st.one_of(st.just("free"), places()))


def on_few_hosts(parts: Parts) -> st.SearchStrategy[Parts]:
    """The same vnodes on two hosts at most."""
    hosts = st.lists(st.sampled_from(("h1", "h2")), min_size=len(parts.vnodes), max_size=len(parts.vnodes))
    return hosts.map(
        lambda names: Parts(
            tuple(_on_host(vnode, name) for vnode, name in zip(parts.vnodes, names)),
            parts.queues,
            parts.jobs,
            parts.runs,
            parts.time_s,
        )
    )


def _on_host(vnode: Vnode, host: str) -> Vnode:
    return Vnode(
        vnode.name, vnode.available, host=host, state=vnode.state, usable=vnode.usable, attributes=vnode.attributes,
        partition=vnode.partition, sharing=vnode.sharing,
    )  # fmt: skip


ANY_HOSTS = st.one_of(clusters(), clusters().flatmap(on_few_hosts))


@given(ANY_HOSTS, requests(), st.data())
def test_a_request_fits_where_a_placement_is_found(parts: Parts, request: Request, data: st.DataObject) -> None:
    capacity = parts.snapshot().cluster().capacity
    vnodes = data.draw(st.integers(0, capacity.inventory.everywhere)) | data.draw(st.sampled_from((0, -1)))
    assert fits(capacity, request, vnodes) == (fit(capacity, request, vnodes) is not None)


@given(ANY_HOSTS, st.lists(requests(), max_size=6), st.data())
def test_sums_of_hosts_are_those_made_anew(parts: Parts, wanted: list[Request], data: st.DataObject) -> None:
    """Also of copies, and of what a copy was made of, whichever of the two changes."""
    capacity = parts.snapshot().cluster().capacity
    for request in wanted:
        other = capacity.copy()
        allocation = fit(capacity, request, -1)
        if allocation is not None:
            capacity.take(allocation.shares(capacity.directory), request)
        vnodes = data.draw(st.integers(0, capacity.inventory.everywhere))
        for each in (capacity, other) if data.draw(st.booleans()) else (other, capacity):
            _assert_as_anew(each, vnodes)
        capacity = data.draw(st.sampled_from((capacity, other)))
    for run in data.draw(st.permutations(parts.runs)):
        capacity.give(run.allocation.shares(capacity.directory), run.job.request)
        _assert_as_anew(capacity, -1)


def _assert_as_anew(capacity: Capacity, vnodes: int) -> None:
    for resource in RESOURCES:
        names = capacity.directory.names
        anew = HostSums.summed(capacity.inventory, [capacity.free_on(1 << n, resource) for n in range(len(names))])
        kept = capacity.by_host(resource)
        assert kept.each == anew.each
        assert kept.of(vnodes) == anew.of(vnodes)
        assert kept.of(-1) == anew.of(-1)
        assert {free: hosts for free, hosts in kept.hosts_with().items() if hosts} == anew.hosts_with()
    by_level = [next(level for level, mask in capacity.levels.items() if mask >> n & 1) for n in range(len(names))]
    assert list(capacity.idle_by_index()) == by_level


CONTENDED = st.one_of(contended_clusters(), contended_clusters(ranked=True), crowded_clusters())


@given(CONTENDED, all_settings(), st.data())
def test_offers_in_sum_are_those_run_by_run(parts: Parts, settings: Settings, data: st.DataObject) -> None:
    """Whatever run is counted out meanwhile, and whatever is booked in and out."""
    cluster = parts.snapshot().cluster()
    quotas = Quotas(cluster, settings.quota.counted)
    classes = Classes(cluster, Ledger(), quotas, parts.time_s) if data.draw(st.booleans()) else None
    runs = list(cluster.runs.values())
    sums = PreemptibleSums([(run, run.allocation.cores) for run in runs], quotas, classes)
    ranks = st.sampled_from((BASE, 0, 1, 5)) if classes else st.just(BASE)
    queues = st.sampled_from((None, *(queue.name for queue in parts.queues)))
    rights = st.builds(PreemptionRights, st.booleans(), ranks, ranks, queues)
    users = st.sampled_from(sorted({job.user for job in (*parts.jobs, *(run.job for run in runs))} or {"nobody"}))
    for _ in range(data.draw(st.integers(1, 4))):
        asked = data.draw(rights)
        user = data.draw(users)
        offered = [run for run in runs if _is_offered(run, user, asked, quotas, classes)]
        assert sums.to(user, asked) == PreemptibleAmount(len(offered), sum(run.allocation.cores for run in offered))
        runs = _one_less(runs, sums, quotas, data)


def _is_offered(run: Run, user: str, rights: PreemptionRights, quotas: Quotas, classes: Classes | None) -> bool:
    rank = BASE if classes is None else classes.of_victim(run)
    compares = rights.queue in (None, run.job.queue)
    if rights.above != BASE and compares and rank < rights.above:
        return True
    if not rights.by_quota or (compares and rank > rights.rank):
        return False
    return run.job.user != user and quotas.surplus(run.job) is not None


@given(CONTENDED, all_settings(), st.data())
def test_the_class_that_protects_a_run_is_that_of_classes_made_anew(
    parts: Parts, settings: Settings, data: st.DataObject
) -> None:
    """Whatever is booked in and out after it was asked for first."""
    cluster = parts.snapshot().cluster()
    quotas = Quotas(cluster, settings.quota.counted)
    classes = Classes(cluster, Ledger(), quotas, parts.time_s)
    runs = list(cluster.runs.values())
    for _ in range(data.draw(st.integers(1, 4))):
        anew = Classes(cluster, Ledger(), quotas, parts.time_s)
        assert [classes.of_victim(run) for run in runs] == [anew.of_victim(run) for run in runs]
        for run in _some(runs, data):
            quotas.shift(run.job, data.draw(st.sampled_from((-1, 1))))


@given(CONTENDED, all_settings(), st.data())
def test_a_run_that_leaves_no_entry_at_its_limit_is_not_taken_by_quota_however_many_go(
    parts: Parts, settings: Settings, data: st.DataObject
) -> None:
    cluster = parts.snapshot().cluster()
    quotas = Quotas(cluster, settings.quota.counted)
    runs = list(cluster.runs.values())
    gives_none = [r for r in runs if not quotas.leaves_some_at_limit(quotas.counted_as(r.job, r.allocation))]
    gone = data.draw(st.lists(st.sampled_from(runs), unique_by=lambda run: run.id) if runs else st.just([]))
    for run in gone:
        quotas.shift(run.job, -1, run.allocation)
        assert all(quotas.surplus(other.job, other.allocation) is None for other in gives_none if other not in gone)


def _one_less(runs: list[Run], sums: PreemptibleSums, quotas: Quotas, data: st.DataObject) -> list[Run]:
    for run in _some(runs, data):
        quotas.shift(run.job, data.draw(st.sampled_from((-1, 1))))
    for run in _some(runs, data):
        sums.count_out(run)
        quotas.shift(run.job, -1)
        return [each for each in runs if each is not run]
    return runs


def _some(runs: list[Run], data: st.DataObject) -> list[Run]:
    drawn: list[Run] = data.draw(st.lists(st.sampled_from(runs), max_size=1) if runs else st.just([]))
    return drawn
