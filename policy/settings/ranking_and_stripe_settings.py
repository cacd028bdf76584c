"""The settings of where a job's ranks go: on which vnodes (P4), and over how many of them (P5).

What a job asks for comes first, then what is set for its application, for its queue where it can be, and for all jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from policy.model.job_preferences import RANK_MODES
from policy.settings.built_in_and_custom_vnode_formulas import read_formulas
from policy.settings.read_application_ranking_presets import Preset, read_presets
from policy.settings.read_layouts_of_queues import LAYOUT_CHOICES, read_layouts
from policy.settings.setting_fields import choice_setting, number_setting, setting, whole_setting
from policy.values.frozen_value import FrozenValue

LEARN_BY = ("user", "all")
LEARN_FROM = ("cpu-time", "speed")
LEARNING_LAYOUTS = ("learn", "auto")
PREFERRED_NODES = ("idle", "shared")
HANDED_ON_HOST = ("files", "bind")
HANDED_LISTS = ("none", "environment", *HANDED_ON_HOST)


@dataclass(frozen=True)
class RankingSettings(FrozenValue):
    """P4: how vnodes are ranked for jobs that name no mode (``none``: packing), and after how many intervals of
    ``interval_s`` a reading is stale. ``formulas`` are the site's own, in place of the built-in ones.
    ``applications`` has what jobs of these applications ask for as far as they say nothing themselves. ``lists`` is how
    the list of sockets and cores reaches a job that asked for one, as it starts: each way includes those before it."""

    mode: str = choice_setting("none", ("none", *RANK_MODES))
    interval_s: float = number_setting(60, 1, unit="seconds")
    stale_intervals: float = number_setting(3, 1)
    formulas: tuple[tuple[str, str], ...] = setting(
        (), "a table of expressions by mode, of compute, memory, network and temperature", read_formulas
    )
    applications: tuple[tuple[str, Preset], ...] = setting(
        (), "a table by application, of rank, min_mem, min_compute, min_network and max_temp", read_presets
    )
    lists: str = choice_setting("none", HANDED_LISTS)


@dataclass(frozen=True)
class StripeSettings(FrozenValue):
    """P5: how the ranks of jobs that ask for no layout are laid out.

    ``layout`` is ``none`` (as select and place say), ``pack``, ``stripe``, ``learn`` or ``auto``. ``learn`` takes the
    layout that was more efficient for the job's application, once ``learn_runs`` runs of each were seen: of its user or
    of all users (``learn_by``), at least ``learn_min_s`` long and at least ``learn_min_share`` of their estimates, by
    their CPU time or their speed (``learn_from``). ``auto`` goes by the idle nodes and the waiting jobs until so many
    were seen. A stripe is ``width_factor`` times as wide as the fewest nodes; where the policy chooses the width also
    twice, four times ... as wide, up to ``widest_factor`` times the fewest. Two stripes on one node start ``stagger_s``
    apart. A node that will be idle within ``idle_within_s`` is taken before one that stays shared. With ``prefer`` as
    ``shared`` a stripe goes first to nodes where stripes of other applications are. ``queues`` have layouts of their
    own, and so have ``applications``, which come first.
    """

    layout: str = choice_setting("none", LAYOUT_CHOICES)
    width_factor: float = number_setting(2, 1, 1000)
    stagger_s: float = number_setting(0, 0, unit="seconds")
    learn_runs: int = whole_setting(5, 1, 1_000_000)
    learn_by: str = choice_setting("user", LEARN_BY)
    learn_min_s: float = number_setting(60, 0, unit="seconds")
    learn_min_share: float = number_setting(0.05, 0, 1)
    idle_within_s: float = number_setting(0, 0, unit="seconds")
    prefer: str = choice_setting("idle", PREFERRED_NODES)
    queues: tuple[tuple[str, str], ...] = setting(
        (), f"a table by queue, each one of {', '.join(LAYOUT_CHOICES)}", read_layouts
    )
    learn_from: str = choice_setting("cpu-time", LEARN_FROM)
    widest_factor: float = number_setting(4, 1, 1000)
    applications: tuple[tuple[str, str], ...] = setting(
        (), f"a table by application, each one of {', '.join(LAYOUT_CHOICES)}", read_layouts
    )

    @property
    def layouts(self) -> frozenset[str]:
        """The layouts of all queues and applications."""
        return frozenset([self.layout, *(layout for _, layout in (*self.queues, *self.applications))])

    @property
    def lays_out(self) -> bool:
        """Whether the settings lay out any job that asks for nothing."""
        if self.layout != "none" or not (self.queues or self.applications):
            return self.layout != "none"
        return any(layout != "none" for _, layout in (*self.queues, *self.applications))

    @property
    def learns(self) -> bool:
        """Whether the layout of some jobs follows from past runs."""
        return not self.layouts.isdisjoint(LEARNING_LAYOUTS)

    def layout_of(self, queue: str, application: str) -> tuple[str, str]:
        """The layout of an application's jobs in a queue, and the key that says so."""
        for key, name, layouts in (("applications", application, self.applications), ("queues", queue, self.queues)):
            layout = dict(layouts).get(name) if name else None
            if layout is not None:
                return layout, f"stripe.{key}.{name}"
        return self.layout, "stripe.layout"

    def for_queue(self, queue: str) -> StripeSettings:
        """The settings as they hold in a queue."""
        layout = dict(self.queues).get(queue) if self.queues else None
        return self if layout is None else replace(self, layout=layout, queues=())
