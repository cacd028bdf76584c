"""Policies by name and by file, and each user's share."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.model.limit_attributes import Limits, parse_limits
from sim.replay.named_policies import NAMES, PolicyError, hard_limits_of, ranks, resolve, shares
from sim.replay.replay import replay
from sim.workload.workload import Cluster, Workload
from tests.sim.small_jobs_and_replays import a_job

CLUSTER = Cluster(10, 1)


def workload(*, generated: bool = False) -> Workload:
    """alice has 600 of 1,000 core-seconds, bob 300, carol 100."""
    jobs = (
        a_job(1, run_s=100, cores=6, user="alice"),
        a_job(2, run_s=300, cores=1, user="bob"),
        a_job(3, run_s=10, cores=10, user="carol"),
    )
    return Workload("test", CLUSTER, jobs, generated=generated)


def test_a_share_is_that_of_the_core_seconds() -> None:
    assert shares(workload(), CLUSTER) == parse_limits("[u:alice=6],[u:bob=3],[u:carol=1]", "test")


def test_shares_are_rounded_up() -> None:
    assert shares(workload(), Cluster(7, 1)) == parse_limits("[u:alice=5],[u:bob=3],[u:carol=1]", "test")


def test_shares_of_a_drawn_workload_are_equal() -> None:
    assert shares(workload(generated=True), CLUSTER) == parse_limits("[u:alice=4],[u:bob=4],[u:carol=4]", "test")


def test_no_hard_limit_is_less_than_its_users_widest_job() -> None:
    """carol's share is 1 core, and her job asks for 10: under a hard limit of 1 it would be left out."""
    assert hard_limits_of(workload(), CLUSTER) == parse_limits("[u:alice=6],[u:bob=3],[u:carol=10]", "test")
    assert hard_limits_of(workload(generated=True), CLUSTER) == shares(workload(generated=True), CLUSTER)
    for name in ("hard-limit", "quota", "priority"):
        assert len(replay(workload(), CLUSTER, resolve(name, workload(), CLUSTER)).records) == 3


def test_jobs_that_ran_no_time_have_no_share() -> None:
    assert shares(Workload("test", CLUSTER, (a_job(run_s=0),)), CLUSTER) == Limits({("u", "alice"): 0})
    assert shares(Workload("test", CLUSTER, ()), CLUSTER) == Limits()


def test_the_names_there_are() -> None:
    for name in NAMES:
        policy = resolve(name, workload(), CLUSTER)
        assert policy.name == name
    kinds = {name: resolve(name, workload(), CLUSTER).settings for name in NAMES}
    assert kinds["fcfs"].backfill.kind == "none"
    assert kinds["easy-sjbf"].backfill.order == "shortest-first"
    assert [name for name in NAMES if kinds[name].quota.preempt] == ["quota"]
    assert [name for name in NAMES if kinds[name].rescue.enabled] == ["checkpoint-rescue"]
    layouts = {name: kinds[name].stripe.layout for name in NAMES if kinds[name].stripe.layout != "none"}
    assert layouts == {
        "packed": "pack",
        "striped": "stripe",
        "learned": "learn",
        "auto": "auto",
        "ranked-striped": "stripe",
    }
    assert [name for name in NAMES if kinds[name].ranking.mode != "none"] == ["ranked", "ranked-striped"]
    assert resolve("quota", workload(), CLUSTER).queue.quotas == shares(workload(), CLUSTER)
    assert resolve("hard-limit", workload(), CLUSTER).queue.hard.max_run_res["ncpus"] == hard_limits_of(
        workload(), CLUSTER
    )


@pytest.mark.parametrize(
    ("name", "factor", "order"),
    [
        ("checkpoint", 0.5, "first-come"),
        ("checkpoint-sjbf", 0.2, "shortest-first"),
        ("checkpoint-rescue", 0.2, "shortest-first"),
    ],
)
def test_the_checkpoint_policies(name: str, factor: float, order: str) -> None:
    settings = resolve(name, workload(), CLUSTER).settings
    backfill, checkpoint = settings.backfill, settings.checkpoint
    assert (backfill.kind, backfill.shrink_factor, backfill.order) == ("checkpoint", factor, order)
    assert (backfill.shrink_threshold_s, backfill.predictor) == (3600, "none")
    assert (checkpoint.saves, checkpoint.charge_s(1), checkpoint.charge_s(999)) == (True, 120, 120)


def test_the_less_of_the_core_seconds_the_higher_the_priority() -> None:
    assert ranks(workload()) == parse_limits("[u:alice=0],[u:bob=1],[u:carol=2]", "test")
    queue = resolve("priority", workload(), CLUSTER).queue
    assert (queue.priorities, queue.quotas) == (ranks(workload()), shares(workload(), CLUSTER))


def test_a_file_may_give_priorities(tmp_path: Path) -> None:
    path = tmp_path / "classes.toml"
    path.write_text('[[queue]]\nname = "q"\nquotas = "[u:bob=2]"\npriorities = "[u:bob=7]"\n')
    assert resolve(str(path), workload(), CLUSTER).queue.priorities == parse_limits("[u:bob=7]", "test")


def test_a_file_gives_settings_and_its_queue(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[quota]\nvictim_order = "newest"\n[[queue]]\nname = "q"\nquotas = "[u:alice=4]"\nmax_run_res = "[u:bob=2]"\n'
    )
    policy = resolve(str(path), workload(), CLUSTER)
    assert (policy.name, policy.queue.name) == ("mine", "q")
    assert policy.settings.quota.victim_order == "newest"
    assert policy.queue.quotas == parse_limits("[u:alice=4]", "test")
    assert policy.queue.hard.max_run_res == {"ncpus": parse_limits("[u:bob=2]", "test")}
    assert policy.settings.schedule.max_starts >= len(workload().jobs)


def test_limits_in_a_file_are_on_the_counted_resource(tmp_path: Path) -> None:
    path = tmp_path / "gpus.toml"
    path.write_text('[quota]\ncounted = "ngpus"\n[[queue]]\nname = "q"\nmax_run_res = "[u:bob=2]"\n')
    assert set(resolve(str(path), workload(), CLUSTER).queue.hard.max_run_res) == {"ngpus"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[quota]\nnothing = 1\n", "quota.nothing"),
        ("[backfill]\nshrink_factor = 1\n", "shrink_factor"),
        ("[[queue]]\nname = 'a'\n[[queue]]\nname = 'b'\n", "a, b"),
        ("[[queue]]\nname = 'a'\n[[queue]]\nname = 'a'\n", "two queues are named 'a'"),
        ("quota = \n", "not TOML"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(PolicyError, match=r"bad\.toml") as refused:
        resolve(str(path), workload(), CLUSTER)
    assert said in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        resolve(str(tmp_path / "none.toml"), workload(), CLUSTER)


def test_a_name_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(PolicyError, match="fcfs, easy, easy-sjbf") as refused:
        resolve("fastest", workload(), CLUSTER)
    assert "'fastest'" in str(refused.value)
