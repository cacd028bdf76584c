"""The podman engine: each host is a container of one image, all on one podman network without a way out.

Containers and network have the testbed's folder as a label, and are found by it: whatever a crash left can be taken
down without a record. The folder itself is mounted into every container by its path on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Callable

from container.engines import podman_image
from container.engines.call_podman import call_podman, limit_options
from container.hosts.find_and_enter_running_host import (
    FIRST_PROCESS,
    cover_paths,
    find_host_process,
    path_on_host,
    read_if_there,
    write_marks,
)
from container.hosts.machine_and_host_requirements import check_host, check_podman, has_podman
from container.testbed_spec import Host, TestbedError, TestbedSpec

_LABEL = "pbsteer.testbed"


def prepare(spec: TestbedSpec, say: Callable[[str], None]) -> None:
    """Make or fetch a missing image; refuse a machine without podman, or whose podman cannot run a container of the
    image.

    Raises `TestbedError`. The container of the test has a network, since networks are what podman most often lacks.
    """
    check_podman()
    for folder in spec.shares:
        if not Path(folder).is_dir():
            raise TestbedError(f"shared folder {folder!r}: there is no such folder on this machine")
    call_podman(["info", "--format", "{{.Host.OCIRuntime.Name}}"])
    podman_image.provide(spec.image, say)
    call_podman(["run", "--rm", "--entrypoint", "", *limit_options(), podman_image.resolve(spec.image), "true"])


def start_hosts(spec: TestbedSpec, testbed: Path) -> dict[str, int]:
    """Start the testbed's containers on a network of their own; returns host name -> first process."""
    label = f"{_LABEL}={testbed}"
    subnet = spec.server.address.rpartition(".")[0]
    addresses = ["--subnet", f"{subnet}.0/24", "--gateway", f"{subnet}.254"]
    network = ["network", "create", "--internal", "--disable-dns", "--label", label, *addresses]
    call_podman([*network, _network_name(spec)])
    image_name = podman_image.resolve(spec.image)
    for host in spec.hosts:
        call_podman(["run", "--detach", "--label", label, *_options(spec, testbed, host), image_name, *FIRST_PROCESS])
    pids = {host.name: _find_started(testbed, host) for host in spec.hosts}
    check_host(path_on_host(pids[spec.server.name], "/"), f"image {image_name}")
    return pids


def furnish_host(pid: int, _host: Host, covers: Mapping[Path, Path]) -> None:
    """Give a host its own files over the image's (``covers``); a container has everything else already."""
    cover_paths(pid, covers)


def kill_hosts(testbed: Path, timeout_s: float = 60.0) -> bool:
    """Remove the testbed's containers, with all that runs in them, and its network; returns whether there was any.

    Safe to repeat, and no error where there is no podman. `TestbedError` if podman does not remove one.
    """
    if not has_podman():
        return False
    deadline = time.monotonic() + timeout_s
    while _is_podman_at_work(testbed):
        # It was started by an ``up`` that has been killed; what it makes must not appear after the removal.
        if time.monotonic() > deadline:
            raise TestbedError(f"podman is still starting hosts of the testbed in {testbed} after {timeout_s:g} s")
        time.sleep(0.05)
    chosen = ["--filter", f"label={_LABEL}={testbed}", "--quiet"]
    containers = call_podman(["ps", "--all", *chosen]).stdout.split()
    if containers:
        call_podman(["rm", "--force", "--time", "0", *containers], timeout_s=timeout_s)
    networks = call_podman(["network", "ls", *chosen]).stdout.split()
    if networks:
        call_podman(["network", "rm", "--force", *networks])
    return bool(containers or networks)


def _options(spec: TestbedSpec, testbed: Path, host: Host) -> list[str]:
    """The options that make a container this host: names, address, marks, and the folders shared with the machine."""
    # Label confinement (SELinux) would hide folders that the machine has not relabelled, and /etc is covered later.
    options = ["--name", host.name, "--hostname", host.name, "--no-hosts", "--security-opt", "label=disable"]
    options += ["--network", _network_name(spec), "--ip", host.address, "--entrypoint", "", "--log-driver", "none"]
    for name, value in write_marks(testbed, host).items():
        options += ["--env", f"{name}={value}"]
    # The first folder has setuid copies of PBS's programs, the second the setuid programs themselves.
    options += ["--volume", f"{testbed}:{testbed}:suid"]
    if not spec.pbs_in_image:
        options += ["--volume", f"{spec.pbs_exec}:{spec.pbs_exec}:ro,suid"]
    for folder in spec.shares:
        options += ["--volume", f"{folder}:{folder}:ro"]
    return [*options, *limit_options()]


def _find_started(testbed: Path, host: Host) -> int:
    pid = find_host_process(testbed, host)
    if pid is None:
        raise TestbedError(f"container {host.name} ended at once; see: podman logs {host.name}")
    return pid


def _network_name(spec: TestbedSpec) -> str:
    return f"pbsteer-testbed-{spec.name}"


def _is_podman_at_work(testbed: Path) -> bool:
    """Whether a podman process is making something with this testbed's label."""
    label = f"{_LABEL}={testbed}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            words = read_if_there(folder / "cmdline").split(b"\0")
            if label in words and words[0].rpartition(b"/")[2] == b"podman":
                return True
    return False
