"""The texts that PBS reads on a testbed's hosts say what the specification says."""

from __future__ import annotations

import shlex

from container.pbs.pbs_config import (
    HOME_FOLDERS,
    write_hosts,
    write_pbs_conf,
    write_server_settings,
    write_vnode_definitions,
)
from container.testbed_spec import MEM_PER_CORE_GIB, TestbedSpec

SPEC = TestbedSpec(name="t", moms=2, cores=6, vnodes=2, pbs_exec="/usr/pbs")


def read_conf(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_server_host_runs_all_but_a_mom_and_a_mom_host_a_mom_alone() -> None:
    for host in SPEC.hosts:
        conf = read_conf(write_pbs_conf(SPEC, host, "/var/t"))
        starts = {
            key.removeprefix("PBS_START_")
            for key, value in conf.items()
            if key.startswith("PBS_START_") and value == "1"
        }
        assert starts == ({"SERVER", "SCHED", "COMM"} if host.is_server else {"MOM"})


def test_every_host_knows_the_server_the_installation_and_its_own_home() -> None:
    for host in SPEC.hosts:
        conf = read_conf(write_pbs_conf(SPEC, host, f"/var/{host.name}"))
        assert (conf["PBS_SERVER"], conf["PBS_EXEC"], conf["PBS_HOME"]) == ("t", "/usr/pbs", f"/var/{host.name}")


def test_pbs_conf_means_to_a_shell_what_it_says() -> None:
    text = write_pbs_conf(SPEC, SPEC.server, "/var/t")
    assert shlex.split(text) == text.split()


def test_every_host_resolves_every_other_by_full_and_short_name() -> None:
    lines = [line.split() for line in write_hosts(SPEC).splitlines()]
    assert lines[0] == ["127.0.0.1", "localhost"]
    assert [(address, name) for address, name, _ in lines[1:]] == [(host.address, host.name) for host in SPEC.hosts]
    assert [short for _, _, short in lines[1:]] == ["server", "m1", "m2"]


def test_no_host_name_stands_for_a_loopback_address() -> None:
    names = {host.name for host in SPEC.hosts}
    assert not any(names & set(line.split()) for line in write_hosts(SPEC).splitlines() if line.startswith("127."))


def test_every_vnode_gets_its_cores_and_memory_in_proportion() -> None:
    mom = SPEC.mom_hosts[0]
    header, *lines = write_vnode_definitions(SPEC, mom).splitlines()
    assert header == "$configversion 2"
    wanted = [("ncpus", str(SPEC.cores)), ("mem", f"{SPEC.cores * MEM_PER_CORE_GIB}gb")]
    assert lines == [
        f"{vnode}: resources_available.{resource} = {value}"
        for vnode in SPEC.vnode_names(mom)
        for resource, value in wanted
    ]


def test_the_server_is_told_of_each_mom_once() -> None:
    created = [line for line in write_server_settings(SPEC).splitlines() if line.startswith("create node")]
    assert created == [f"create node {mom.name}" for mom in SPEC.mom_hosts]


def test_a_folder_of_pbs_home_comes_after_the_one_it_is_in() -> None:
    seen: set[str] = set()
    for folder, _ in HOME_FOLDERS:
        parent, _, _ = folder.rpartition("/")
        assert not parent or parent in seen
        seen.add(folder)
