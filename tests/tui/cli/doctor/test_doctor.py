"""``pbsteer doctor``: nothing to do on a healthy server, and each broken thing named with what to do."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.pbs.custom_resources import MODE_ATTRIBUTE, PAUSED_ATTRIBUTE
from hooks.store.state_folder import state_folder
from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import QuotaSettings, Settings
from tests.tui.call_pbsteer_command import run
from tests.tui.cli.doctor.observed_healthy_server import PASS, a_healthy_server
from tests.tui.scripted_server import NOON_S, changed
from tui.cli.doctor.check_state_folder_and_disk import check_folder
from tui.cli.doctor.doctor import doctor, examine
from tui.cli.doctor.finding import Finding, Level, describe, exit_status, ok, unseen, warn, wrong
from tui.cli.doctor.observe_host_and_server import Observed, observe

QUIET_PROC = Path("/nonexistent")


def bad(observed: Observed, proc: Path = QUIET_PROC) -> list[Finding]:
    """What is not ok, without what belongs to the disk and the files of the machine that runs the tests."""
    here = ("disk", "state folder")
    return [each for each in examine(observed, proc) if each.level is not Level.OK and each.about not in here]


def with_status(observed: Observed, **parts: Any) -> Observed:
    assert observed.server_status is not None
    return replace(observed, server_status=changed(observed.server_status, **parts))


def edited(observed: Observed, part: str, name: str, **texts: str) -> Observed:
    """With attributes of one object of the server set, ``_`` for a dot."""
    objects = getattr(observed.server_status, part)
    return with_status(observed, **{part: {**objects, name: {**objects.get(name, {}), **texts}}})


def test_on_a_healthy_server_everything_is_ok(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path)
    assert bad(observed) == []
    about = {finding.about for finding in examine(observed, QUIET_PROC)}
    assert about >= {"versions", "server", "queues", "hooks", "passes", "schedulers", "MoMs", "clocks", "settings"}
    assert about >= {"state folder", "sizes", "disk"}


@pytest.mark.parametrize(
    ("part", "name", "texts", "level", "words", "remedy"),
    [
        ("vnodes", "v2", {"state": "down,offline"}, Level.WARN, "of 3 vnodes 1 do not answer: v2", "start pbs_mom"),
        ("vnodes", "v2", {"state": "Stale"}, Level.WARN, "of 3 vnodes 1 are Stale", "delete node"),
        (
            "queues", "gpu", {MODE_ATTRIBUTE: "dirve"}, Level.WRONG,
            "queue gpu has mode 'dirve' and is taken as observe", "pbsteer do mode gpu observe --yes",
        ),
        (
            "scheds", "gpu", {"scheduling": "False"}, Level.WRONG,
            "scheduler gpu is switched off, and pbsteer does not drive gpu", "set sched gpu scheduling = True",
        ),
        ("scheds", "gpu", {"state": "down"}, Level.WRONG, "scheduler gpu is down: no job of gpu", "pbs_sched -I gpu"),
        ("scheds", "gpu", {"partition": "other"}, Level.WRONG, "no scheduler serves gpu", "partition"),
        (
            "scheds", "gpu", {"preempt_prio": "queue_softlimits, normal_jobs"}, Level.WARN,
            "scheduler gpu preempts by soft limits too", "preempt_prio",
        ),
        (
            "vnodes", "v1", {"resources_available.pbsteer_reading": f"t={NOON_S + 90:.0f};idle=0.5"}, Level.WRONG,
            "1 host up to 90 s ahead: v1", "NTP",
        ),
        ("jobs", "13.hpc1", {"ctime": str(int(NOON_S + 60))}, Level.WRONG, "server's clock is 60 s ahead", "NTP"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_server_is_named_with_what_to_do(
    tmp_path: Path, part: str, name: str, texts: dict[str, str], level: Level, words: str, remedy: str
) -> None:
    (found,) = bad(edited(a_healthy_server(tmp_path), part, name, **texts))
    assert found.level is level
    assert words in found.text
    assert remedy in found.remedy


def test_where_passes_act_and_nothing_bounds_the_number_of_jobs_that_is_reported(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path)
    status = observed.server_status
    assert status is not None
    unbounded = {**{name: text for name, text in status.server.items() if name != "max_queued"}}
    acting = edited(with_status(observed, server=unbounded), "queues", "workq", **{MODE_ATTRIBUTE: "drive"})
    found = [each for each in bad(acting) if "max_queued" in each.text]
    assert [each.level for each in found] == [Level.WARN]
    assert "workq" in found[0].text
    assert "set server max_queued" in found[0].remedy
    of_one_user = edited(acting, "queues", "workq", **{MODE_ATTRIBUTE: "drive", "max_queued": "[u:alice=5],[g:chem=9]"})
    assert [each.level for each in bad(of_one_user) if "max_queued" in each.text] == [Level.WARN]
    of_queue = edited(acting, "queues", "workq", **{MODE_ATTRIBUTE: "drive", "max_queued": "[u:PBS_GENERIC=9]"})
    assert not [each for each in bad(of_queue) if "workq" in each.text and "max_queued" in each.text]


def test_a_scheduler_that_is_down_is_missed_in_drive_too(tmp_path: Path) -> None:
    driven = edited(
        a_healthy_server(tmp_path), "queues", "gpu", **{MODE_ATTRIBUTE: "drive", "max_queued": "[o:PBS_ALL=9]"}
    )
    (found,) = bad(edited(driven, "scheds", "gpu", state="down"))
    assert (found.level, found.text) == (
        Level.WARN,
        "scheduler gpu is down: passes start the jobs, but reservations and suspended jobs would wait for it",
    )


def test_a_server_without_vnodes_is_named(tmp_path: Path) -> None:
    (found,) = bad(with_status(a_healthy_server(tmp_path), vnodes={}))
    assert (found.level, found.text) == (Level.WARN, "the server has no vnodes: no job can start")
    assert "create node" in found.remedy


def test_a_pause_is_named_with_what_ends_it(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path)
    assert observed.server_status is not None
    server = {**observed.server_status.server, PAUSED_ATTRIBUTE: "for alice"}
    (found,) = bad(with_status(observed, server=server))
    assert (found.level, found.text, found.remedy) == (
        Level.WARN, "pbsteer is paused (for alice)", "pbsteer resume",
    )  # fmt: skip
    assert found.shared == "pbsteer is paused"


def test_another_scheduler_on_the_host_is_named(tmp_path: Path) -> None:
    for number, name in ((41, "maui"), (42, "pbs_sched"), (43, "bash")):
        (tmp_path / "proc" / str(number)).mkdir(parents=True)
        (tmp_path / "proc" / str(number) / "comm").write_text(f"{name}\n")
    (found,) = bad(a_healthy_server(tmp_path), tmp_path / "proc")
    assert found.text.startswith("maui runs on this host")


def test_a_server_that_does_not_answer_is_wrong(tmp_path: Path) -> None:
    observed = replace(
        a_healthy_server(tmp_path), server_status=None, installed=None, health=None, away="no route to hpc1"
    )
    (found,) = bad(observed)
    assert found == wrong("server", "no route to hpc1", "see that pbs_server runs and answers")


def test_failed_and_long_passes_are_named(tmp_path: Path) -> None:
    slow = {**PASS, "seconds": {"read_s": 90.0, "decide_s": 1.0, "act_s": 0.0}}
    failed = {**PASS, "failures": ["qrun 11.hpc1: refused"]}
    found = bad(replace(a_healthy_server(tmp_path), passes=(slow, failed)))
    assert [(each.level, each.text) for each in found] == [
        (Level.WARN, "in 1 of the last 2 requests to the server failed"),
        (Level.WARN, "of the last 2 the longest took 91.00 s of 10 s"),
    ]


def test_settings_that_fight_are_named(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path)
    other = Settings(quota=QuotaSettings(delay_s=77.0))
    differing = replace(observed, site_settings=other)
    (found,) = bad(differing)
    assert (found.level, found.remedy) == (Level.WARN, "pbsteer hooks plan, then pbsteer hooks apply")
    assert "quota.delay_s" in found.text
    invalid = replace(observed, site_problems=("p.toml: rescue.enabled = True with backfill.kind = 'none'",))
    (found,) = bad(invalid)
    assert (found.level, found.shared) == (Level.WRONG, "p.toml: rescue.enabled")
    kept_back = replace(observed, obstacles={"workq": "peer_queue is set"})
    (found,) = bad(kept_back)
    assert "queue workq is in drive and is not driven: peer_queue is set" in found.text


def test_a_settings_file_that_this_user_may_not_read_is_unseen_and_a_folder_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the default path too, which no option named."""
    policy, conf = tmp_path / "policy.toml", str(tmp_path / "none.conf")

    def findings(*words: str) -> list[dict[str, str]]:
        found: list[dict[str, str]] = json.loads(run("doctor", "--json", "--pbs-conf", conf, *words).output)["findings"]
        return [each for each in found if each["about"] == "settings"]

    default = next(option for option in doctor.params if option.name == "policy")
    monkeypatch.setattr(default, "default", policy)
    assert findings() == []
    policy.mkdir()
    for words in ((), ("--settings", str(policy))):
        (found,) = findings(*words)
        assert (found["level"], found["text"]) == ("wrong", f"{policy}: cannot be read: Is a directory")
    policy.rmdir()
    policy.touch()

    def refuse(path: Path, *_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    (found,) = findings()
    assert (found["level"], found["text"]) == ("unseen", f"{policy}: Permission denied")
    assert found["do"] == "run pbsteer doctor as root on the server's host"


def test_a_queue_without_a_mode_has_the_one_of_the_settings(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path, Settings(server=ServerSettings(mode="advise")))
    status = observed.server_status
    assert status is not None
    bare = {name: value for name, value in status.queues["gpu"].items() if name != MODE_ATTRIBUTE}
    observed = replace(observed, server_status=changed(status, queues={**status.queues, "gpu": bare}))
    assert observed.modes()["gpu"] == "advise"


def test_owner_modes_and_links_of_the_state_folder(tmp_path: Path) -> None:
    folder = tmp_path / "pbsteer"
    folder.mkdir(mode=0o700)
    (folder / "ledger.json").write_text("{}")
    (folder / "ledger.json").chmod(0o600)
    own = os.getuid()
    assert [each.level for each in check_folder(folder, group_may_read=False, owner_id=own)] == [Level.OK, Level.OK]
    (folder / "ledger.json").chmod(0o666)
    (loose,) = [each for each in check_folder(folder, group_may_read=False, owner_id=own) if each.level is not Level.OK]
    assert loose.remedy == f"chmod 0600 {folder / 'ledger.json'}"
    folder.chmod(0o750)
    (folder / "passes.json").write_text("{}")
    (folder / "passes.json").chmod(0o640)
    (folder / "ledger.json").chmod(0o640)
    (read,) = [each for each in check_folder(folder, group_may_read=True, owner_id=own) if each.level is not Level.OK]
    assert read.remedy == f"chmod 0600 {folder / 'ledger.json'}", "a group reads the journal, and no ledger"
    (folder / "ledger.json").chmod(0o600)
    (folder / "passes.json").unlink()
    hostile = folder / "x;reboot"
    hostile.write_text("")
    hostile.chmod(0o666)
    (quoted,) = [each for each in check_folder(folder, group_may_read=True, owner_id=own) if each.level is not Level.OK]
    assert quoted.remedy == f"chmod 0640 '{hostile}'"
    hostile.unlink()
    folder.chmod(0o700)
    foreign = [
        each for each in check_folder(folder, group_may_read=False, owner_id=own + 1) if "belongs to user" in each.text
    ]
    assert len(foreign) == 2
    (tmp_path / "link").symlink_to(folder)
    (linked,) = check_folder(tmp_path / "link", group_may_read=False, owner_id=own)
    assert linked.text.endswith("is a symbolic link")
    (tmp_path / "file").write_text("")
    (no_folder,) = check_folder(tmp_path / "file", group_may_read=False, owner_id=own)
    assert no_folder.text.endswith("is no folder")


def test_the_exit_status_is_the_worst_finding() -> None:
    assert exit_status([ok("a", "b")]) == 0
    assert exit_status([ok("a", "b"), unseen("a", "b")]) == 1
    assert exit_status([warn("a", "b"), ok("a", "b")]) == 1
    assert exit_status([wrong("a", "b"), warn("a", "b")]) == 2
    assert describe([wrong("disk", "full", "make room")]) == [
        "wrong  disk: full; to do: make room",
        "0 ok, 0 warn, 1 wrong, 0 unseen",
    ]


def test_without_pbs_it_says_what_it_could_not_look_at(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[quota]\ndelay_s = -1\n")
    words = ["doctor", "--json", "--pbs-conf", str(tmp_path / "none.conf"), "--settings", str(policy)]
    done = run(*words)
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert found["status"] == 2
    assert [(each["level"], each["about"]) for each in found["findings"]] == [
        ("ok", "versions"), ("unseen", "server"), ("wrong", "settings"),
    ]  # fmt: skip
    policy.write_text("")
    done = run(*words)
    assert done.exit_code == 1
    assert "is valid" in json.loads(done.stdout)["findings"][-1]["text"]


def test_a_server_that_is_down_leaves_what_the_host_shows(tmp_path: Path) -> None:
    conf = tmp_path / "pbs.conf"
    conf.write_text(f"PBS_EXEC=/nonexistent\nPBS_HOME={tmp_path}\nPBS_SERVER=hpc1\n")
    state_folder(str(tmp_path)).mkdir(mode=0o700)
    observed = observe(conf, tmp_path / "none.toml", NOON_S)
    assert observed.away
    assert {each.about for each in examine(observed, QUIET_PROC)} >= {"versions", "server", "state folder", "disk"}
