"""The bundle for support: complete, readable by its owner alone, and without names or secrets."""

from __future__ import annotations

import json
import re
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.deploy.bundle_hook import EVENTS
from hooks.deploy.health.hook_errors_in_log import Complaint
from policy.settings.settings_of_server_and_passes import AlertSettings, ServerSettings
from policy.settings.site_settings import Settings
from tests.tui.cli.doctor.observed_healthy_server import PASS, a_healthy_server
from tests.tui.scripted_server import a_job, changed
from tui.cli.doctor.check_hooks_passes_settings import check_settings
from tui.cli.doctor.doctor import examine
from tui.cli.doctor.finding import wrong
from tui.cli.doctor.observe_host_and_server import read_site
from tui.cli.doctor.support_bundle import bundle_members, write_bundle

SECRET = "hunter2-token"
NAMES = ("alice", "bob", "carol", "dave", "zoe", "erna.meyer", "chem-lab", "secretproject", "fred.only-here")
PRIVATE = ("render", "post", "huge", "/home/", "MYVAR", SECRET)


def a_bundle(tmp_path: Path) -> dict[str, str]:
    settings = Settings(
        alerts=AlertSettings(command=("/usr/bin/curl", f"https://x/{SECRET}")),
        server=ServerSettings(journal_group="chem-lab"),
    )
    observed = a_healthy_server(tmp_path, settings)
    status = observed.server_status
    assert status is not None
    job = a_job("erna.meyer", 4, egroup="chem-lab", project="secretproject", Output_Path="h:/home/erna.meyer/o")
    queues = {
        **status.queues,
        "workq": {
            **status.queues["workq"],
            "max_run_res_soft.ncpus": "[u:alice=4],[g:chem-lab=8]",
            "acl_users": "fred.only-here",
        },
    }
    health = observed.health
    assert health is not None
    complaints = (
        Complaint(1.0, f"Traceback (most recent call last): ... ValueError: /home/erna.meyer {SECRET} MYVAR=1"),
    )
    observed = replace(
        observed,
        server_status=changed(status, jobs={**status.jobs, "17.hpc1": job}, queues=queues),
        health=health._replace(complaints=complaints),
        passes=(PASS,),
    )
    findings = [
        *examine(observed, Path("/nonexistent")),
        wrong("queues", "u:alice would use 4, erna.meyer@login1 asked, alice's and bob's"),
        wrong("settings", f"alerts.command = {SECRET}")._replace(shared="alerts.command"),
    ]
    return bundle_members(observed, findings)


def test_no_name_and_no_secret_is_in_a_bundle(tmp_path: Path) -> None:
    text = "\n".join(a_bundle(tmp_path).values())
    assert [word for word in (*NAMES, *PRIVATE) if word in text] == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f'[alerts]\ncommand = "curl {SECRET}"\n', "alerts.command"),
        (f'[alerts]\n"command {SECRET}" = 1\n', "unknown key"),
        (f"{SECRET} = 1\n", "unknown key"),
        (f'[alerts]\ncommand = ["{SECRET}"\n[quota]\n', "not TOML"),
        (f'[ranking]\nmode = "{SECRET}"\n', "ranking.mode"),
        (f'[[queue]]\nname = "workq"\nquotas = {{ncpus = "{SECRET} 7"}}\n', "queue 'workq': quotas"),
        (f'[[queue]]\nname = "workq"\n"{SECRET}" = 7\n', "queue 'workq': unknown key"),
        (f'[[queue]]\nname = "workq"\npriorities = "[u:{SECRET}=1],[u:{SECRET}=2]"\n', "queue 'workq': priorities"),
        (f'[cluster]\nmax_run_res = "{SECRET}"\n', "cluster: max_run_res"),
    ],
)  # fmt: skip
def test_of_an_invalid_setting_only_the_place_is_in_a_bundle(tmp_path: Path, text: str, place: str) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(text)
    site, problems = read_site(policy, {})
    assert any(SECRET in problem for problem in problems) or place == "not TOML"
    observed = replace(a_healthy_server(tmp_path), policy=policy, site_settings=site, site_problems=problems)
    findings = bundle_members(observed, list(check_settings(observed)))["findings.json"]
    assert [each["text"] for each in json.loads(findings)] == [f"{policy}: {place}"]
    assert SECRET not in findings


def test_pseudonyms_are_the_same_throughout_a_bundle(tmp_path: Path) -> None:
    members = a_bundle(tmp_path)
    limits = json.loads(members["server.json"])["queues"]["workq"]["max_run_res_soft.ncpus"]
    found = re.fullmatch(r"\[u:(user\d+)=4\],\[g:(group\d+)=8\]", limits)
    assert found
    (sentence,) = [each["text"] for each in json.loads(members["findings.json"]) if "would use 4" in each["text"]]
    assert sentence.startswith(f"u:{found[1]} would use 4, user")
    assert f"{found[1]}'s and user" in sentence
    assert json.loads(members["settings.json"])["server"]["journal_group"] == found[2]


def test_a_project_called_as_a_level_spoils_no_finding(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path)
    status = observed.server_status
    assert status is not None
    jobs = {f"{n}.hpc1": a_job("zoe", 1, project=name) for n, name in enumerate(("wrong", "text", "level"))}
    observed = replace(observed, server_status=changed(status, jobs=jobs))
    (found,) = json.loads(bundle_members(observed, [wrong("queues", "zoe waits", "see zoe")])["findings.json"])
    user = found["text"].partition(" ")[0]
    assert re.fullmatch(r"user\d+", user)
    assert found == {"level": "wrong", "about": "queues", "text": f"{user} waits", "do": f"see {user}"}


def test_what_helps_is_in_it(tmp_path: Path) -> None:
    members = a_bundle(tmp_path)
    assert set(members) == {"README", "findings.json", "settings.json", "server.json", "hooks.json", "passes.json"}
    assert json.loads(members["hooks.json"])["errors"] == [{"at_s": 1.0, "kinds": ["ValueError"]}]
    assert len(json.loads(members["hooks.json"])["hooks"]) == len(EVENTS)
    (entry,) = json.loads(members["passes.json"])
    assert (entry["starts"], entry["waits"], entry["seconds"]) == (1, {"no-quota": 2}, PASS["seconds"])
    assert json.loads(members["server.json"])["vnodes_by_state"] == {"free": 3}


def test_a_bundle_is_for_its_owner_alone_and_replaces_nothing(tmp_path: Path) -> None:
    observed = a_healthy_server(tmp_path)
    path = tmp_path / "bundle.tar.gz"
    write_bundle(path, observed, [])
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        assert {member.name.partition("/")[0] for member in archive} == {"pbsteer-doctor"}
    with pytest.raises(FileExistsError):
        write_bundle(path, observed, [])
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        write_bundle(tmp_path / "link", observed, [])
    assert not (tmp_path / "elsewhere").exists()
