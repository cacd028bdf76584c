"""The texts that make a cluster's server a member of a centre: sshd's and sudo's configuration, names, cluster.toml.

Pure: specification in, text out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from container.centre.centre_spec import GUESTS, OWN, SERVICE, CentreSpec, Member, Programs

MG_HOME = Path("/var/spool/pbsteer-mg")


def write_names(spec: CentreSpec, member: Member) -> str:
    """Lines of /etc/hosts for the servers of the other clusters."""
    return "".join(f"{other.address} {other.testbed.name}\n" for other in spec.members if other.letter != member.letter)


def write_known_hosts(spec: CentreSpec, host_keys: Mapping[str, str]) -> str:
    """The text of ssh_known_hosts. ``host_keys``: letter -> public host key."""
    return "".join(f"{m.testbed.name},{m.address} {host_keys[m.letter]}\n" for m in spec.members)


def write_sshd_config(member: Member, programs: Programs) -> str:
    """The text of sshd_config: no password, and for the service's account the keys that its program names.

    It listens at the member's address alone: a daemon of PBS may connect from port 22, as from any below 1024, and then
    sshd could not listen at all addresses.
    """
    return f"""ListenAddress {member.address}
PidFile /run/sshd.pid
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
AuthorizedKeysFile none
AcceptEnv none
LogLevel VERBOSE
Match User {SERVICE.name}
    AuthorizedKeysCommand {programs.path("mgkeys")} %u %t %k
    AuthorizedKeysCommandUser {SERVICE.name}
    PermitTTY no
    AllowTcpForwarding no
    AllowAgentForwarding no
    X11Forwarding no
"""


def write_sudoers(programs: Programs) -> str:
    """The text of the service's file in sudoers.d: one program, and nothing else."""
    return (
        f"Defaults:{SERVICE.name} !requiretty, !use_pty, env_reset\n"
        f"{SERVICE.name} ALL=(root) NOPASSWD: {programs.path('mguser')}\n"
    )


def write_queue_settings() -> str:
    """The qmgr commands that make the queue of guests: no guest has a quota, so each of them may be preempted."""
    return (
        f"create queue {GUESTS} queue_type=execution\n"
        f"set queue {GUESTS} enabled=True,started=True,Priority=-10\n"
        f'set queue {GUESTS} max_run_res_soft.ncpus = "[u:PBS_GENERIC=0]"\n'
    )


def write_cluster_file(spec: CentreSpec, member: Member, keys: Mapping[str, str], landings: Mapping[str, Path]) -> str:
    """The text of ``member``'s cluster.toml. ``keys``: letter -> public key of the service; ``landings``: letter -> the
    folder of guests.
    """
    homes = landings[member.letter].parent / "home"
    lines = [f"this = {_quote(member.letter)}", ""]
    for each in spec.members:
        lines += [
            "[[cluster]]",
            f"name = {_quote(each.letter)}",
            f"ssh = {_quote(f'{SERVICE.name}@{each.testbed.name}')}",
            f"scheduler = {_quote(each.testbed.scheduler)}",
            f"queue = {_quote(GUESTS)}",
            f"landing = {_quote(str(landings[each.letter]))}",
            f"key = {_quote(keys[each.letter])}",
            "",
        ]
    roots = _quote([str(homes)])
    here = ["[here]", f"queue = {_quote(OWN)}", f"allowed_roots = {roots}", f"share_roots = {roots}"]
    return "\n".join([*lines, *here, ""])


def _quote(value: str | list[str]) -> str:
    """A TOML text or list of texts; JSON's form of these is TOML's too."""
    return json.dumps(value)
