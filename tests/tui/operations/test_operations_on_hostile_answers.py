"""Whatever a server answers, an operation is made and previewed, or refused with a sentence; nothing else is raised.

The answers are those of the random keys: odd names and texts, attributes left out.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from policy import Ledger, Settings
from tests.fuzz_tui.hostile_backend import HostileBackend
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.interface.commands_interface import ChangeError
from tui.backends.pbs.build_change_commands import PbsCommands
from tui.operations.operation_registry import VERBS, Order, Verb
from tui.operations.operation_type_and_preview import preview_operation
from tui.state.cluster_view import ClusterView, see

_ANSWERS = 25
_ODD_VALUES = ("", "-", "1e999", "+2h", "x" * 300, "\x1b[31m", "字", "None", "[u:=1],[")
_VALUES = {"walltime": "+1h", "priority": "5", "comment": "wait", "mode": "drive", "drain": "requeue", "offline": "fan"}


@pytest.mark.parametrize("seed", (*range(6), 137, 193))
def test_an_operation_is_made_or_refused_and_nothing_else_is_raised(seed: int) -> None:
    chance = random.Random(seed)
    backend = HostileBackend(seed)
    outcomes: Counter[str] = Counter()
    for _ in range(_ANSWERS):
        try:
            server_status = backend.poll()
        except (BackendError, OSError, KeyError, UnicodeError):
            continue
        cluster = see(server_status, Settings(), Ledger(), 0.1)
        if chance.random() < 0.5:
            cluster = cluster.decided(lambda: 0.0)
        for verb in VERBS:
            outcomes[_try(cluster, verb, chance)] += 1
    assert outcomes["previewed"] > 20
    assert outcomes["refused"] > 20


def _try(cluster: ClusterView, verb: Verb, chance: random.Random) -> str:
    objects = {
        "job": cluster.server_status.jobs,
        "vnode": cluster.server_status.vnodes,
        "queue": cluster.server_status.queues,
    }[verb.kind]
    names = chance.sample(sorted(objects), min(len(objects), chance.choice((1, 1, 3))))
    value = "workq" if verb.name == "move" else _VALUES.get(verb.name, "")
    if chance.random() < 0.2:
        value = chance.choice(_ODD_VALUES)
    try:
        operation = verb.operation(cluster, PbsCommands(), Order(tuple(names), value, "root"))
        preview_operation(cluster, operation)
    except ChangeError as error:
        assert str(error)
        return "refused"
    return "previewed"
