"""The hook at a job's end is on while a job could have been asked to save, and goes off ten minutes after the last."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hooks.checkpoint.save_method.save_method_of_job import METHOD_OF_JOB
from hooks.control.switched_hooks.end_hook_switch import KEPT_S, EndHookOnHosts, is_end_hook_needed, switch_end_hook
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from hooks.pbs.own_switch_values import END_HOOK
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import END_HOOK_NEEDED, State
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status
from tests.hooks.stand_in import pbs_ifl

pytestmark = pytest.mark.usefixtures("fresh_server")

NEEDED = Settings(server=ServerSettings(end_hook="needed"))
ALWAYS = Settings(server=ServerSettings(end_hook="always"))
NO_METHOD = {"workq": "requeue"}
SAVES = {"1.s": job() | {METHOD_OF_JOB: "signal"}}
SUSPENDED = job("S") | {"exec_vnode": "(v1:ncpus=1)"}
ENDS_ITSELF = {"1.s": running()}
ASKED = Mark("9.s", "signal", 1000, 1060)


def marked(texts: dict[str, str], mark: Mark, index: int | None = None) -> dict[str, str]:
    return texts | {MARK_KEY: show_marks({None: Mark(), index: mark})}


@pytest.mark.parametrize(
    ("jobs", "methods", "needed"),
    [
        ({}, NO_METHOD, False),
        (
            {"1.s": running(), "2.s": job(), "3.s": job("H"), "4.s": SUSPENDED},
            NO_METHOD,
            False,
        ),
        ({}, {"workq": "requeue", "long": "checkpoint"}, True),
        ({"1.s": job("H") | {METHOD_OF_JOB: "signal"}}, NO_METHOD, True),
        ({"1.s": running() | {METHOD_OF_JOB: "checkpoint"}}, NO_METHOD, True),
        ({"1.s": running() | {METHOD_OF_JOB: "requeue"}}, NO_METHOD, False),
        ({"1.s": job("H") | {"exec_vnode": "(v1:ncpus=1)"}}, NO_METHOD, True),
        ({"1.s": job("Q") | {"exec_vnode": "(v1:ncpus=1)"}}, NO_METHOD, True),
        ({"1.s": marked(running(), ASKED)}, NO_METHOD, True),
        ({"8[].s": marked(job("B"), ASKED, 3)}, NO_METHOD, True),
        ({"1.s": marked(running(), ASKED._replace(how="requeue"))}, NO_METHOD, False),
    ],
)
def test_it_is_needed_for_who_could_be_asked_was_asked_or_is_to_be_restarted(
    jobs: dict[str, dict[str, str]], methods: dict[str, str], needed: bool
) -> None:
    assert is_end_hook_needed(server_status(jobs), methods) is needed


def switched(present: str, status: ServerStatus, state: State, settings: Settings = NEEDED) -> list[list[str]]:
    """What the server is asked for where its hook is so."""
    pbs_ifl.CALLS.clear()
    pbs_ifl.WORLD["hooks"] = {END_HOOK: {"enabled": present}} if present else {}
    with state.locked(), Connection(pbs_ifl) as connection:
        assert switch_end_hook(connection, settings, status, NO_METHOD, state) == []
    return [call for call in pbs_ifl.CALLS if call[0] == "hook"]


@pytest.fixture
def state(tmp_path: Path) -> State:
    return State(tmp_path / "pbsteer")


def at(seconds: float, jobs: dict[str, dict[str, str]]) -> ServerStatus:
    return replace(server_status(jobs), time_s=NOW_S + seconds)


def test_it_goes_off_where_it_was_never_needed_and_on_where_it_is(state: State) -> None:
    assert switched("true", at(0, ENDS_ITSELF), state) == [["hook", END_HOOK, "false"]]
    assert switched("false", at(0, ENDS_ITSELF), state) == []
    assert switched("false", at(1, SAVES), state) == [["hook", END_HOOK, "true"]]
    assert switched("true", at(2, SAVES), state) == []


def test_it_stays_on_for_a_while_after_it_was_needed(state: State) -> None:
    switched("true", at(0, SAVES), state)
    assert switched("true", at(KEPT_S - 1, ENDS_ITSELF), state) == []
    assert switched("false", at(KEPT_S - 1, ENDS_ITSELF), state) == [["hook", END_HOOK, "true"]]
    assert switched("true", at(KEPT_S, ENDS_ITSELF), state) == [["hook", END_HOOK, "false"]]


def test_that_it_is_needed_is_written_once_a_minute_at_most(state: State) -> None:
    for seconds, noted in ((0, 0), (59, 0), (60, 60), (-3600, -3600)):
        switched("true", at(seconds, SAVES), state)
        assert state.read_published(END_HOOK_NEEDED) == {"time_s": NOW_S + noted}


def test_a_clock_that_was_set_back_does_not_keep_it_on(state: State) -> None:
    switched("true", at(86_400, SAVES), state)
    assert switched("true", at(0, ENDS_ITSELF), state) == [["hook", END_HOOK, "false"]]


@pytest.mark.parametrize("noted", [{"time_s": "soon"}, {"time_s": None}, {}])
def test_a_note_that_cannot_be_read_counts_as_none(state: State, noted: dict[str, object]) -> None:
    with state.locked():
        state.publish(END_HOOK_NEEDED, noted, shared=False)
    assert switched("true", at(0, ENDS_ITSELF), state) == [["hook", END_HOOK, "false"]]


def test_where_it_is_always_to_be_on_passes_keep_it_on(state: State) -> None:
    assert switched("true", at(0, ENDS_ITSELF), state, ALWAYS) == []
    assert switched("false", at(0, ENDS_ITSELF), state, ALWAYS) == [["hook", END_HOOK, "true"]]


def test_a_server_without_it_is_left_alone(state: State) -> None:
    assert switched("", at(0, ENDS_ITSELF), state, ALWAYS) == []
    assert switched("", at(0, SAVES), state) == []


def test_a_refused_switch_is_told(state: State) -> None:
    pbs_ifl.WORLD["hooks"] = {END_HOOK: {"enabled": "false"}}
    pbs_ifl.REFUSALS[END_HOOK] = "15007 Unauthorized Request"
    with state.locked(), Connection(pbs_ifl) as connection:
        (sentence,) = switch_end_hook(connection, NEEDED, at(0, SAVES), NO_METHOD, state)
    assert "set enabled = True of hook pbsteer_execjob_epilogue" in sentence


def on_hosts(tmp_path: Path, present: str, *lines: str) -> list[str]:
    """The hosts among n1 and n2 on which the hook is on."""
    folder = tmp_path / "server_priv" / "hooks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tracking.TR").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    pbs_ifl.WORLD["hooks"] = {END_HOOK: {"enabled": present}} if present else {}
    with Connection(pbs_ifl) as connection:
        hook = EndHookOnHosts(connection, tmp_path)
        return [host for host in ("n1", "n2.site") if hook.is_on(host)]


def test_it_is_on_the_hosts_to_which_nothing_is_left_to_be_sent(tmp_path: Path) -> None:
    assert on_hosts(tmp_path, "true") == ["n1", "n2.site"]
    assert on_hosts(tmp_path, "true", f"N1.site:15002 {END_HOOK} 1 7", "n2:15002 other 1 7") == ["n2.site"]
    assert on_hosts(tmp_path, "true", f"n2:15002 {END_HOOK} 1 7") == ["n1"]
    sent = (f"n1:15002 {END_HOOK} 1 7", f"n1:15002 {END_HOOK} 0 7")
    assert on_hosts(tmp_path, "true", *sent) == ["n1", "n2.site"]


def test_it_is_on_no_host_while_it_is_off_or_the_server_does_not_say(tmp_path: Path) -> None:
    assert on_hosts(tmp_path, "false") == []
    pbs_ifl.WORLD["ends"] = True
    assert on_hosts(tmp_path, "true") == []


def test_nobody_waits_for_it_where_the_server_has_none(tmp_path: Path) -> None:
    assert on_hosts(tmp_path, "") == ["n1", "n2.site"]
