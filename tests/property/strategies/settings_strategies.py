"""What a site wants: settings of every kind with numbers that matter on the drawn clusters, and limits as texts."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from policy import Settings
from policy.model.job_preferences import RANK_MODES
from policy.model.limit_attributes import ALL, GENERIC, Limits
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.read_layouts_of_queues import LAYOUT_CHOICES
from policy.settings.settings_of_server_and_passes import MODES, ScheduleSettings, ServerSettings
from policy.settings.simulated_queues import QueueSettings
from policy.settings.site_settings import (
    BACKFILL_KINDS,
    BACKFILL_ORDERS,
    PREDICTORS,
    VICTIM_ORDERS,
    BackfillSettings,
    CheckpointSettings,
    PrioritySettings,
    QuotaSettings,
    RescueSettings,
)
from tests.property.strategies.cluster_strategies import limit_sets, rankings


def backfills(*kinds: str) -> st.SearchStrategy[BackfillSettings]:
    """P3 of these kinds, else of any."""
    return st.builds(
        BackfillSettings,
        kind=st.sampled_from(kinds or (*BACKFILL_KINDS, "checkpoint")),
        order=st.sampled_from(BACKFILL_ORDERS),
        shrink_factor=st.sampled_from((0.5, 0.1, 0.25, None)),
        shrink_threshold_s=st.sampled_from((0, 20, 50, 100)),
        predictor=st.sampled_from(("none", *PREDICTORS)),
    )


def checkpoints() -> st.SearchStrategy[CheckpointSettings]:
    """Saving that is cheap, dear or not possible at all."""
    return st.builds(
        CheckpointSettings,
        saves=st.sampled_from((True, True, False)),
        cost_s=st.sampled_from((0, 1, 5, 30)),
        cost_per_core_s=st.sampled_from((0, 0, 1)),
        restart_s=st.sampled_from((0, 0, 3)),
        restart_per_core_s=st.sampled_from((0, 0, 0.5)),
        grace_s=st.sampled_from((0, 0, 5, 20)),
        repeat_at_most_s=st.sampled_from((0, 30, 1000)),
    )


def rescues(*enabled: bool) -> st.SearchStrategy[RescueSettings]:
    """The rescue with numbers as small as the drawn jobs."""
    return st.builds(
        RescueSettings,
        enabled=st.sampled_from(enabled or (True, False)),
        short_s=st.sampled_from((10, 30, 60)),
        wait_factor=st.sampled_from((0, 1, 2)),
        wait_least_s=st.sampled_from((0, 10, 60)),
        exempt_s=st.sampled_from((0, 10, 30)),
        max_cuts=st.integers(1, 3),
        left_least_s=st.sampled_from((0, 20, 60)),
    )


def priorities(*preempt: bool) -> st.SearchStrategy[PrioritySettings]:
    """Rule B on or off."""
    return st.builds(
        PrioritySettings,
        preempt=st.sampled_from(preempt or (True, True, False)),
        deferrable_first=st.booleans(),
        compare_queues=st.booleans(),
    )


def eager_quotas() -> st.SearchStrategy[QuotaSettings]:
    """Rule A where nothing but the victims' own standing keeps a job from preempting."""
    return st.builds(QuotaSettings, victim_order=st.sampled_from(VICTIM_ORDERS))


def patient_quotas() -> st.SearchStrategy[QuotaSettings]:
    """Rule A, or not, with delays, exempt times and caps."""
    return st.builds(
        QuotaSettings,
        preempt=st.sampled_from((True, True, True, False)),
        counted=st.sampled_from(((), ("ncpus",))),
        victim_order=st.sampled_from(VICTIM_ORDERS),
        delay_s=st.sampled_from((0, 0, 100)),
        delay_per_core_s=st.sampled_from((0, 0, 10)),
        urgent_priority=st.sampled_from((1024, 5)),
        exempt_s=st.sampled_from((0, 0, 50)),
        max_preemptions=st.sampled_from((None, None, 0, 1, 2, 3)),
        give_up_s=st.integers(1, 1000),
    )


def eager_settings() -> st.SearchStrategy[Settings]:
    """Rules A and B eager, any backfilling, no rescue."""
    return st.builds(
        Settings, backfill=backfills(), quota=eager_quotas(), priority=priorities(), checkpoint=checkpoints()
    )


def by_quota_settings() -> st.SearchStrategy[Settings]:
    """Rule A alone, eager; estimates as they are."""
    return st.builds(
        Settings,
        backfill=backfills("none", "easy"),
        quota=eager_quotas(),
        priority=priorities(False),
        checkpoint=checkpoints(),
    )


def by_class_settings() -> st.SearchStrategy[Settings]:
    """Rule B alone: rule A is off."""
    return st.builds(
        Settings,
        backfill=backfills(),
        quota=st.just(QuotaSettings(preempt=False)),
        priority=priorities(True),
        checkpoint=checkpoints(),
    )


def cutting_settings(*, rescue: bool | None = None) -> st.SearchStrategy[Settings]:
    """P3 alone, with shrunk estimates, and perhaps the rescue; rules A and B are off."""
    return st.builds(
        Settings,
        backfill=backfills("checkpoint"),
        quota=st.builds(
            QuotaSettings,
            preempt=st.just(False),
            max_preemptions=st.sampled_from((None, 3, 1, 2)),
            exempt_s=st.sampled_from((0, 0, 20)),
        ),
        priority=st.just(PrioritySettings(preempt=False)),
        checkpoint=checkpoints(),
        rescue=rescues() if rescue is None else rescues(rescue),
    )


def all_settings() -> st.SearchStrategy[Settings]:
    """Every policy there is, all together, with numbers that matter on the drawn clusters."""
    return st.builds(
        Settings,
        backfill=backfills(),
        quota=patient_quotas(),
        priority=priorities(),
        checkpoint=checkpoints(),
        rescue=rescues(),
        schedule=st.builds(ScheduleSettings, interval_s=st.integers(1, 60), max_starts=st.sampled_from((1, 3, 500))),
        server=st.builds(ServerSettings, mode=st.sampled_from(MODES)),
        queues=st.lists(
            st.builds(
                QueueSettings,
                st.sampled_from(("a", "b", "ü q")),
                limits_by_resource(),
                limits_by_resource(),
                rankings(),
            ),
            max_size=3,
            unique_by=lambda queue: queue.name,
        ).map(tuple),
    )


def written_settings() -> st.SearchStrategy[Settings]:
    """The same with those tables whose laws are their own files', as they may stand in a settings file."""
    ranking = st.builds(RankingSettings, st.sampled_from(("none", *RANK_MODES)), st.integers(1, 600), st.floats(1, 9))
    stripe = st.builds(StripeSettings, st.sampled_from(LAYOUT_CHOICES), st.floats(1, 9), st.integers(0, 60))
    shrink = st.one_of(st.none(), st.floats(0.01, 0.99))
    return st.builds(
        lambda settings, ranking, stripe, factor: replace(
            settings, ranking=ranking, stripe=stripe, backfill=replace(settings.backfill, shrink_factor=factor)
        ),
        all_settings(),
        ranking,
        stripe,
        shrink,
    )


def lively(settings: st.SearchStrategy[Settings]) -> st.SearchStrategy[Settings]:
    """The same for clusters that live on: nothing that only another kind of pass would show."""
    return settings.map(
        lambda drawn: replace(drawn, schedule=ScheduleSettings(), quota=replace(drawn.quota, give_up_s=10_000))
    )


NAMES = st.text(
    st.characters(blacklist_characters="\"]'[", blacklist_categories=("Cs", "Cc", "Z")), min_size=1, max_size=12
)
"""Names as an odd site has them: anything printable that PBS's own syntax can carry."""


@st.composite
def any_limits(draw: st.DrawFn) -> Limits:
    """Limits on entities of all kinds, with names as odd as PBS allows."""
    keys = st.one_of(st.tuples(st.sampled_from("ugp"), NAMES), st.sampled_from((("u", GENERIC), ALL)))
    return Limits(draw(st.dictionaries(keys, st.integers(0, 10**12), max_size=5)))


def nobody_makes_room(settings: Settings, kind: str) -> Settings:
    """The settings with backfilling of that kind and without preemption and rescue: only ends of runs free anything."""
    return replace(
        settings,
        backfill=replace(settings.backfill, kind=kind),
        quota=QuotaSettings(preempt=False),
        priority=PrioritySettings(preempt=False),
        rescue=RescueSettings(enabled=False),
    )


def limits_by_resource() -> st.SearchStrategy[dict[str, Limits]]:
    """Limits on cores, GPUs or both; none that are empty, as a file has none."""
    tables = st.dictionaries(st.sampled_from(("ncpus", "ngpus")), limit_sets(), max_size=2)
    return tables.map(lambda table: {resource: limits for resource, limits in table.items() if limits})
