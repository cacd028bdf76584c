"""The file of clusters: what it may say, and a message for each problem in it."""

from pathlib import Path
from typing import Any

import pytest

from migration.config.cluster_file import ClusterFileError
from migration.config.read_cluster_file import parse_cluster_file, read_cluster_file

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFcD4d6Vh1Ybw1S8pZ0q8m9K5lY3c7mJx2tq8rU5nQeK"
FILE = f"""
this = "a"

[[cluster]]
name = "b"
ssh = "mg@b-mgmt"
key = "{KEY}"
bwlimit_kib = 1000

[[cluster]]
name = "a"
ssh = "mg@a-mgmt"
scheduler = "pbs"
queue = "global"
landing = "/scratch/mg"
arch = "x86_64-v3"
modules = ["openmpi", "gcc/12.2"]

[[cluster]]
name = "c"
ssh = "mg@c-mgmt"
send = false

[here]
share_roots = ["/data/meshes"]
allowed_roots = ["/home", "/work"]
[here.users.b]
alice = "al"
eve = ""

[limits]
max_uploads = 2
"""


def test_a_whole_file(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(FILE)
    file = read_cluster_file(tmp_path)
    assert file is not None
    assert (file.this.scheduler, file.this.landing, file.this.modules) == (
        "pbs",
        "/scratch/mg",
        ("openmpi", "gcc/12.2"),
    )
    assert [other.name for other in file.others] == ["b", "c"]
    assert file.placing.this == "a"
    assert file.placing.order == ("b",), "nothing is sent to c"
    b = file.other("b")
    assert b is not None
    assert (b.key, b.bwlimit_kib) == (KEY, 1000)
    assert file.other("z") is None
    assert (file.limits.max_uploads, file.limits.max_downloads) == (2, 4)
    assert file.limits.waiting.upload_timeout_s == 14_400


def test_accounts_of_other_clusters_users(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(FILE)
    file = read_cluster_file(tmp_path)
    assert file is not None
    here = file.here
    assert (here.account("b", "alice"), here.account("b", "eve"), here.account("b", "mallory")) == ("al", "", "")
    assert here.account("c", "carol") == "carol"


def test_without_the_file_there_are_no_other_clusters(tmp_path: Path) -> None:
    assert read_cluster_file(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"\xff", "not UTF-8"),
        (b"this =", "not TOML"),
        (b"", "this: missing: must be a name"),
        (b'this = "a"', "this: 'a': must be the name of a [[cluster]]"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: bytes, problem: str) -> None:
    (tmp_path / "cluster.toml").write_bytes(text)
    with pytest.raises(ClusterFileError) as raised:
        read_cluster_file(tmp_path)
    assert problem in str(raised.value)
    assert str(tmp_path / "cluster.toml") in str(raised.value)


def test_a_folder_in_the_files_place_is_reported(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").mkdir()
    with pytest.raises(ClusterFileError, match=r"cluster\.toml: cannot be read: Is a directory"):
        read_cluster_file(tmp_path)


A = {"name": "a", "ssh": "mg@a", "scheduler": "pbs", "landing": "/scratch"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"thsi": 1}, "thsi: no such key; there are this, cluster, here, limits"),
        ({"this": "A"}, "this: 'A': must be a name of a-z"),
        ({"cluster": [A, A]}, "cluster: 'a': must be named once"),
        ({"cluster": [{**A, "name": "any"}]}, "cluster 1: name: 'any': must be any name but any and local"),
        ({"cluster": [{**A, "scheduler": "sge"}]}, "cluster 1: scheduler: 'sge': must be one of pbs, slurm"),
        ({"cluster": [{"name": "a", "ssh": "h"}]}, "cluster 1: scheduler: missing"),
        ({"cluster": [{"name": "a", "ssh": "h"}]}, "cluster 1: landing: missing"),
        ({"cluster": [A, {"name": "b"}]}, "cluster 2: ssh: missing: must be USER@HOST or HOST"),
        ({"cluster": [A, {"name": "b", "ssh": "-oProxyCommand=x"}]}, "cluster 2: ssh: '-oProxyCommand=x'"),
        ({"cluster": [A, {"name": "b", "ssh": "b", "key": 'ssh-ed25519 AAAA" x'}]}, "cluster 2: key: "),
        ({"cluster": [A, {"name": "b", "ssh": "b", "sent": True}]}, "cluster 2: sent: no such key"),
        (
            {"cluster": [{**A, "landing": "/scratch/../etc"}]},
            "cluster 1: landing: '/scratch/../etc': must be an absolute",
        ),
        ({"cluster": [{**A, "landing": "/"}]}, "cluster 1: landing: '/'"),
        ({"cluster": [{**A, "modules": ["a b"]}]}, "cluster 1: modules: ['a b']"),
        ({"cluster": 3}, "cluster: 3: must be tables"),
        ({"here": {"users": {"b": {"alice": "root"}}}}, "here.users.b.alice: 'root': must be an account, never root"),
        ({"here": {"users": {"z": {}}}}, "here.users.z: 'z': must be the name of a [[cluster]]"),
        ({"here": {"pause_taking_from": ["z"]}}, "here.pause_taking_from: 'z': must be any, or the name of another"),
        ({"here": {"pause_sending_to": ["a"]}}, "here.pause_sending_to: 'a': must be any, or the name of another"),
        ({"here": {"pause_sending_to": "any"}}, "here.pause_sending_to: 'any': must be a list of names of clusters"),
        ({"here": {"allowed_roots": ["home"]}}, "here.allowed_roots: ['home']"),
        ({"limits": {"max_uploads": 0}}, "limits.max_uploads: 0: must be a whole number from 1 to 1000"),
        ({"limits": {"max_uploads": True}}, "limits.max_uploads: True"),
        ({"limits": 4}, "limits: 4: must be a table"),
    ],
)
def test_each_problem_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ClusterFileError) as raised:
        parse_cluster_file({"this": "a", "cluster": [A], **change}, "FILE")
    assert any(f"FILE: {problem}" in one for one in raised.value.problems), raised.value.problems


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(ClusterFileError) as raised:
        parse_cluster_file({"this": "a", "cluster": [A], "x": 1, "y": 2, "limits": {"max_uploads": "3"}}, "FILE")
    assert len(raised.value.problems) == 3


def test_pauses_are_of_one_cluster_or_of_all() -> None:
    b = {"name": "b", "ssh": "mg@b"}
    pauses = {"pause_sending_to": ["any"], "pause_taking_from": ["b"]}
    file = parse_cluster_file({"this": "a", "cluster": [A, b, {**b, "name": "c"}], "here": pauses}, "FILE")
    assert [file.here.sends_to(name) for name in "bc"] == [False, False]
    assert [file.here.takes_from(name) for name in "bc"] == [False, True]
    assert file.placing.order == ("b", "c"), "a request that every cluster refuses for good is not one that waits"
