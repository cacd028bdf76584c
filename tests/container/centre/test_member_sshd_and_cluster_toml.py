"""The texts of a centre's servers: each names the others, and the service's account may do nothing but its programs."""

from __future__ import annotations

import sys
from pathlib import Path

from container.centre import member_sshd_and_cluster_toml
from container.centre.centre_spec import CentreSpec, Programs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SPEC = CentreSpec("site")
A, B, C = SPEC.members
PROGRAMS = Programs(Path("/opt/pbsteer/bin"))


def test_a_server_knows_the_other_servers_by_name_and_all_by_host_key() -> None:
    assert member_sshd_and_cluster_toml.write_names(SPEC, B).split() == [A.address, "site-a", C.address, "site-c"]
    known = member_sshd_and_cluster_toml.write_known_hosts(
        SPEC, {"a": "ssh-ed25519 A", "b": "ssh-ed25519 B", "c": "ssh-ed25519 C"}
    )
    assert f"site-b,{B.address} ssh-ed25519 B" in known.splitlines()


def test_only_the_services_keys_open_a_server_and_its_own_program_names_them() -> None:
    lines = [line.strip() for line in member_sshd_and_cluster_toml.write_sshd_config(B, PROGRAMS).splitlines()]
    everybody, service = lines[: lines.index("Match User mg")], lines[lines.index("Match User mg") :]
    assert {"PasswordAuthentication no", "AuthorizedKeysFile none", "PermitRootLogin no"} <= set(everybody)
    assert f"ListenAddress {B.address}" in everybody
    assert "AuthorizedKeysCommand /opt/pbsteer/bin/mgkeys %u %t %k" in service


def test_the_service_may_run_one_program_as_root() -> None:
    rules = [
        line
        for line in member_sshd_and_cluster_toml.write_sudoers(PROGRAMS).splitlines()
        if not line.startswith("Defaults")
    ]
    assert rules == ["mg ALL=(root) NOPASSWD: /opt/pbsteer/bin/mguser"]


def test_each_cluster_file_is_toml_with_all_clusters_in_order() -> None:
    landings = {member.letter: Path(f"/beds/site-{member.letter}/landing") for member in SPEC.members}
    keys = {member.letter: f"ssh-ed25519 {member.letter}" for member in SPEC.members}
    read = tomllib.loads(member_sshd_and_cluster_toml.write_cluster_file(SPEC, C, keys, landings))
    assert read["this"] == "c"
    assert [(each["name"], each["ssh"], each["scheduler"], each["key"]) for each in read["cluster"]] == [
        ("a", "mg@site-a", "pbs", "ssh-ed25519 a"),
        ("b", "mg@site-b", "pbs", "ssh-ed25519 b"),
        ("c", "mg@site-c", "slurm", "ssh-ed25519 c"),
    ]
    assert read["here"]["allowed_roots"] == ["/beds/site-c/home"]
