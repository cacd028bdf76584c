"""The bundled hook of moves: users' jobs stay at this server, whatever name of another one is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import MODES, summary_of
from tests.hooks.run_bundled_hook import Hook


def move(destination: str, **more: Any) -> dict[str, Any]:
    return {"id": "7.server", "queue": destination, "Resource_List": {}, **more}


@pytest.mark.parametrize("mode", MODES)
def test_users_move_jobs_to_this_servers_queues_alone(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    within = ["workq", "workq@server", "workq@SERVER", "@server"]
    assert hook.run("movejob", events=[move(each) for each in within])["verdicts"] == [None] * len(within)
    away = [
        "workq@x.example.org",
        "@elsewhere",
        "workq@server:15001",
        "workq@server@x",
        "workq@server+x",
        "workq@",
        "a@(server",
    ]
    for asked in away:
        refused, let_through = hook.run("movejob", events=[move(asked), move(asked, requestor="olga")])["verdicts"]
        assert "allowed are queues of this server, by its own name" in str(refused), asked
        assert let_through is None


def test_a_site_may_let_users_move_jobs_to_other_servers(hook: Hook) -> None:
    settings = {"submission": {"depend_servers": "any"}}
    assert hook.run("movejob", events=[move("workq@peer")], settings=settings)["verdicts"] == [None]


def test_a_move_within_the_server_asks_for_nothing(hook: Hook) -> None:
    answer = hook.run("movejob", events=[move("workq"), {"Resource_List": {}}])
    assert (answer["verdicts"], answer["server calls"], answer["logged"]) == ([None, None], 0, [])


@pytest.mark.parametrize("mode", MODES)
def test_into_advise_users_bring_no_priority_of_beneficiaries(hook: Hook, mode: str) -> None:
    """A pass gives each waiting job its level, but held ones keep what they were submitted with."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    for destination in ("workq", "workq@server", "@server", "routes"):
        events = [
            move(destination, **{"Priority": 1023, **more}) for more in ({}, {"requestor": "olga"}, {"Priority": 1022})
        ]
        refused, *others = hook.run("movejob", events=events)["verdicts"]
        assert ("lower it first (qalter -p 1022)" in str(refused)) == (mode == "advise"), destination
        assert others == [None, None]
