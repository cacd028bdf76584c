"""The settings that are tried: each its own, each a file that the engine's own reader takes back as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.model.limit_attributes import Limits
from policy.settings.site_settings import Settings
from sim.replay.named_policies import resolve
from sim.tune.candidate_settings import Candidate, grid
from sim.workload.read_toml_file import read_toml
from sim.workload.workload import Cluster, Workload

GRIDS = [grid(120), grid(0.5, thorough=True)]


@pytest.mark.parametrize("candidates", GRIDS, ids=["small", "thorough"])
def test_easy_comes_first_and_nothing_comes_twice(candidates: list[Candidate]) -> None:
    assert candidates[0].name == "easy"
    assert len({candidate.name for candidate in candidates}) == len(set(candidates)) == len(candidates)


def test_the_small_grid_is_small() -> None:
    assert len(grid(120)) == 10
    assert len(grid(120)) * 5 < len(grid(120, thorough=True)) < 100


def test_the_thorough_grid_has_all_of_the_small_one() -> None:
    assert set(grid(120)) <= set(grid(120, thorough=True))


def test_every_dimension_of_p3_is_varied() -> None:
    swept = [candidate.backfill for candidate in grid(120, thorough=True) if candidate.cuts]
    for key in ("shrink_factor", "shrink_threshold_s", "order", "predictor"):
        assert len({getattr(backfill, key) for backfill in swept}) > 1
    assert {candidate.backfill.predictor for candidate in grid(120)} == {"none", "last-two", "ratio"}


def test_the_rescue_is_tried_with_its_cap_and_lengths() -> None:
    assert [candidate.rescue.max_cuts for candidate in grid(120) if candidate.rescue.enabled] == [3, 1]
    rescues = [candidate.rescue for candidate in grid(120, thorough=True) if candidate.rescue.enabled]
    for key in ("short_s", "max_cuts"):
        assert len({getattr(rescue, key) for rescue in rescues}) > 1
    assert [c.name for c in grid(120)][-2:] == [
        "p 0.2 above 1 h 00, sjbf, rescue",
        "p 0.2 above 1 h 00, sjbf, rescue once",
    ]


def test_one_setting_is_easy_shortest_first() -> None:
    for candidates in GRIDS:
        assert [candidate.is_shortest_first_easy for candidate in candidates].index(True) == 1
        assert sum(candidate.is_shortest_first_easy for candidate in candidates) == 1


@pytest.mark.parametrize("candidate", grid(90.5, thorough=True), ids=lambda candidate: candidate.name)
def test_the_written_file_gives_the_same_settings(tmp_path: Path, candidate: Candidate) -> None:
    path = tmp_path / "site.toml"
    path.write_text(candidate.to_toml())
    read = Settings.from_data(read_toml(path), str(path))
    swept = {"backfill": candidate.backfill, "checkpoint": candidate.checkpoint, "rescue": candidate.rescue}
    assert read == replace(Settings(), **swept)  # type: ignore[arg-type]
    workload = Workload("none", Cluster(1, 1), ())
    assert resolve(str(path), workload, Cluster(1, 1)).settings.backfill == candidate.policy().settings.backfill


def test_candidates_differ_in_nothing_but_what_is_swept() -> None:
    easy, *others = (candidate.policy() for candidate in grid(120))
    for other in others:
        same = replace(
            other.settings,
            backfill=easy.settings.backfill,
            checkpoint=easy.settings.checkpoint,
            rescue=easy.settings.rescue,
        )
        assert (same, other.queue) == (easy.settings, easy.queue)


def test_the_cost_of_a_checkpoint_is_charged_where_jobs_are_cut() -> None:
    for candidate in grid(77):
        assert candidate.policy().settings.checkpoint.saves == candidate.cuts
        assert not candidate.cuts or candidate.policy().settings.checkpoint.charge_s(4) == 77


# Quotas

QUOTAS = Queue("workq", quotas=Limits({("u", "alice"): 3, ("u", "bob"): 5}))


def with_quotas(*, thorough: bool = False) -> list[Candidate]:
    return [each for each in grid(120, thorough=thorough, quotas=QUOTAS) if each.quota.preempt]


def test_delays_and_caps_of_quotas_are_tried_where_quotas_are_given() -> None:
    assert [each.name for each in with_quotas()] == [
        "quotas, sjbf",
        "quotas, once, sjbf",
        "quotas, delay 10 min, sjbf",
        "quotas, delay 10 min, once, sjbf",
    ]
    assert len(with_quotas(thorough=True)) == 9
    assert grid(120, quotas=QUOTAS)[:10] == grid(120)


def test_a_candidate_with_quotas_replays_with_these_and_preempts_after_its_delay() -> None:
    policy = with_quotas()[3].policy()
    assert policy.queue == QUOTAS
    assert (policy.settings.quota.delay_s, policy.settings.quota.max_preemptions) == (600, 1)
    assert not any(each.policy().settings.quota.preempt for each in grid(120))
    assert not with_quotas()[0].is_shortest_first_easy


@pytest.mark.parametrize("candidate", with_quotas(thorough=True), ids=lambda candidate: candidate.name)
def test_the_written_file_of_quotas_gives_the_same_replay(tmp_path: Path, candidate: Candidate) -> None:
    path = tmp_path / "site.toml"
    path.write_text(f"{candidate.to_toml()}{candidate.quotas_toml()}")
    read = resolve(str(path), Workload("none", Cluster(1, 1), ()), Cluster(1, 1))
    assert (read.queue, read.settings.quota) == (QUOTAS, candidate.quota)
    assert grid(120)[0].quotas_toml() == ""
