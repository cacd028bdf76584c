"""Values of policy/ go to the worker processes of `tune` and `compare`, and come back equal, compiled or not."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import policy
from policy.model.jobs_runs_vnodes_queues import HardLimits, Queue, Server, Vnode
from policy.model.limit_attributes import Limits
from policy.order.site_order_settings import SiteOrder
from policy.settings.simulated_queues import QueueSettings
from policy.settings.site_settings import BackfillSettings, Settings
from policy.values.frozen_value import FrozenValue

QUOTAS = Limits({("u", "alice"): 8})
SETTINGS = Settings(
    BackfillSettings(kind="checkpoint", shrink_factor=0.5), queues=(QueueSettings("workq", {"ncpus": QUOTAS}),)
)
QUEUE = Queue("workq", quotas=QUOTAS, hard=HardLimits(max_run=QUOTAS), order=SiteOrder("default", ("workq",)))
VALUES = (SETTINGS, QUEUE, Server("server", shared={"matlab": 2}), Vnode("v1", {"ncpus": 4}))


def frozen_dataclasses() -> Iterator[type]:
    folder = Path(policy.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(("policy", *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
        for _, kind in inspect.getmembers(import_module(name), inspect.isclass):
            if kind.__module__ == name and is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                yield kind


def test_values_come_back_equal_from_another_process() -> None:
    for value in VALUES:
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301 - our own bytes
        assert copy.copy(value) == copy.deepcopy(value) == value


def test_every_frozen_dataclass_is_made_anew_from_its_fields() -> None:
    kinds = list(frozen_dataclasses())
    assert Settings in kinds
    assert [kind for kind in kinds if not issubclass(kind, FrozenValue)] == []
