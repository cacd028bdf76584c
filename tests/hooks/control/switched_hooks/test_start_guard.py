"""The hook of starts goes off only while passes alone start jobs or nothing is to be checked, and is on before anything
else starts a job that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.control.switched_hooks.start_guard import digests_to_compare, end_of_starts, may_go_unguarded, switch_guard
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.own_switch_values import START_HOOK
from hooks.store.event_hook_summary import NOTHING_KNOWN, QueueSummary, Summary
from hooks.store.event_hook_summary import SUMMARY as SUMMARY_FILE
from hooks.store.state_files import State
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import Settings
from tests.hooks.control.driven_queue_statuses import NOTHING, assignment_of, see
from tests.hooks.sample_server_statuses import queue
from tests.hooks.stand_in import pbs_ifl

pytestmark = pytest.mark.usefixtures("fresh_server")

NEEDED, ALWAYS = (Settings(server=ServerSettings(guard_starts=word)) for word in ("needed", "always"))
DRIVEN = assignment_of(see("False"), NOTHING)
BOTH_DRIVEN = DRIVEN._replace(driven=frozenset({"workq", "other"}))
SUMMARY = replace(
    NOTHING_KNOWN, queues={"workq": QueueSummary("drive", {}, {}, 1, 1, chunk={})}, starting={"1.server": False}
)


@pytest.mark.parametrize(
    ("settings", "queues", "assignment", "summary", "unguarded"),
    [
        (NEEDED, {"workq": queue()}, DRIVEN, SUMMARY, True),
        (NEEDED, {"workq": queue(), "in": queue(queue_type="Route")}, DRIVEN, SUMMARY, True),
        (ALWAYS, {"workq": queue()}, DRIVEN, SUMMARY, False),
        (NEEDED, {"workq": queue(), "other": queue()}, DRIVEN, SUMMARY, False),
        (NEEDED, {"workq": queue(), "other": queue()}, BOTH_DRIVEN, SUMMARY, False),
        (NEEDED, {"workq": queue()}, DRIVEN._replace(driven=frozenset()), SUMMARY, False),
        (NEEDED, {"workq": queue()}, DRIVEN._replace(in_cycle=frozenset({"workq"})), SUMMARY, False),
        (NEEDED, {"workq": queue()}, DRIVEN._replace(on=("other",)), SUMMARY, False),
        (replace(NEEDED, stripe=StripeSettings(stagger_s=5)), {"workq": queue()}, DRIVEN, SUMMARY, False),
        (replace(NEEDED, ranking=RankingSettings(lists="cores")), {"workq": queue()}, DRIVEN, SUMMARY, False),
        (
            NEEDED,
            {"workq": queue()},
            DRIVEN,
            replace(SUMMARY, queues={"workq": SUMMARY.queues["workq"]._replace(save="signal")}),
            False,
        ),
    ],
)
def test_the_hook_may_be_off_only_while_passes_alone_start_jobs_and_it_has_nothing_else_to_do(
    settings: Settings, queues: dict[str, dict[str, str]], assignment: Any, summary: Summary, unguarded: bool
) -> None:
    assert may_go_unguarded(settings, queues, assignment, summary) is unguarded


def calls_for(present: str, settings: Settings, summary: Summary) -> list[list[str]]:
    """What the server is asked for where its hook is so."""
    pbs_ifl.CALLS.clear()
    pbs_ifl.WORLD["hooks"] = {START_HOOK: {"enabled": present}} if present else {}
    with Connection(pbs_ifl) as connection:
        assert switch_guard(connection, settings, summary) == []
    return [call for call in pbs_ifl.CALLS if call[0] == "hook"]


def test_the_hook_is_switched_where_it_is_not_as_it_has_to_be() -> None:
    off, on = replace(SUMMARY, unguarded=True), SUMMARY
    assert calls_for("true", NEEDED, off) == [["hook", START_HOOK, "false"]]
    assert calls_for("false", NEEDED, on) == [["hook", START_HOOK, "true"]]
    assert calls_for("false", NEEDED, off) == calls_for("true", NEEDED, on) == []


@pytest.mark.parametrize(
    ("modes", "enabled"),
    [((), "false"), (("observe",), "false"), (("observe", "advise"), "true"), (("observe", "drive"), "true")],
)
def test_the_hook_is_off_as_long_as_every_queue_is_in_observe(modes: tuple[str, ...], enabled: str) -> None:
    described = SUMMARY.queues["workq"]
    queues = {f"q{index}": described._replace(mode=mode) for index, mode in enumerate(modes)}
    summary = replace(SUMMARY, queues=queues, starting={})
    other = "false" if enabled == "true" else "true"
    assert calls_for(other, NEEDED, summary) == [["hook", START_HOOK, enabled]]
    assert calls_for(enabled, NEEDED, summary) == []
    assert calls_for("true", ALWAYS, summary) == []


def test_a_pass_without_starts_leaves_the_hook_on() -> None:
    idle = replace(SUMMARY, unguarded=True, starting={})
    assert calls_for("true", NEEDED, idle) == []


def test_where_the_guard_is_always_on_or_not_there_nothing_is_asked_for() -> None:
    assert calls_for("false", ALWAYS, SUMMARY) == []
    assert calls_for("", NEEDED, SUMMARY) == []


def test_the_end_of_the_starts_lets_owners_alter_their_jobs_again(tmp_path: Path) -> None:
    state = State(tmp_path / "pbsteer")
    with state.locked():
        end_of_starts(state, replace(SUMMARY, unguarded=True, planned={"1.server": "digest"}))
        assert state.read_published(SUMMARY_FILE)["unguarded"] is False
        assert state.read_published(SUMMARY_FILE)["planned"] == {"1.server": "digest"}


def test_a_pass_that_has_started_nothing_writes_no_summary_again(tmp_path: Path) -> None:
    state = State(tmp_path / "pbsteer")
    with state.locked():
        end_of_starts(state, replace(SUMMARY, unguarded=True, starting={}))
        end_of_starts(state, SUMMARY)
        assert state.read_published(SUMMARY_FILE) == {}


def test_starts_are_compared_wherever_the_hook_may_be_off() -> None:
    summary = replace(SUMMARY, planned={"1.server": "digest"})
    assert digests_to_compare(NEEDED, summary) == {"1.server": "digest"}
    assert digests_to_compare(ALWAYS, summary) == {}


def test_a_server_that_does_not_say_whether_the_hook_is_on_is_told_of() -> None:
    pbs_ifl.WORLD.update({"hooks": {START_HOOK: {"enabled": "true"}}, "ends": True})
    with Connection(pbs_ifl) as connection:
        (sentence,) = switch_guard(connection, NEEDED, replace(SUMMARY, unguarded=True))
    assert "read hook pbsteer_runjob" in sentence


def test_a_refused_switch_is_told() -> None:
    pbs_ifl.WORLD["hooks"] = {START_HOOK: {"enabled": "false"}}
    pbs_ifl.REFUSALS[START_HOOK] = "15007 Unauthorized Request"
    with Connection(pbs_ifl) as connection:
        (sentence,) = switch_guard(connection, NEEDED, SUMMARY)
    assert "set enabled = True of hook pbsteer_runjob" in sentence
    assert "Unauthorized" in sentence
