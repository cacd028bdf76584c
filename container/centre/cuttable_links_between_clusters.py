"""The centre's network: one link between each two servers, which can be cut, restored, and slowed down.

A server has one address, whichever link leads to it, so a program cannot tell which of its links is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from container.centre.centre_spec import Member
from container.hosts.find_and_enter_running_host import step

_NOWHERE = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")


def _enter(pid: int) -> list[str]:
    return ["nsenter", "-t", str(pid), "-n", "--"]


def connect(members: Sequence[tuple[Member, int]]) -> None:
    """Link the servers. ``members``: each cluster, with the first process of its server."""
    for member, pid in members:
        step([*_enter(pid), "ip", "addr", "add", f"{member.address}/32", "dev", "lo"])
    for one, other in combinations(members, 2):
        (a, pid_a), (b, pid_b) = one, other
        ends = ["type", "veth", "peer", "name", _link_to(a), "netns", str(pid_b)]
        step([*_enter(pid_a), "ip", "link", "add", _link_to(b), *ends])
        for pid, here, there in ((pid_a, a, b), (pid_b, b, a)):
            _raise(pid, here, there)


def cut(pid: int, to: Member) -> None:
    """Cut the link from the server with this first process to another cluster, in this direction.

    Packets go to a card that does not exist, so neither side has an error: what is sent has no answer.
    """
    step([*_enter(pid), "ip", "neigh", "replace", to.address, *_NOWHERE, "dev", _link_to(to)])


def restore(pid: int, to: Member) -> None:
    """Make the link from this server to another cluster work again."""
    step([*_enter(pid), "ip", "neigh", "replace", to.address, "nud", "none", "dev", _link_to(to)])
    step([*_enter(pid), "ip", "neigh", "flush", "dev", _link_to(to)])


def limit_rate(pid: int, to: Member, kbit: int) -> None:
    """Let the server with this first process send at most ``kbit`` kbit/s to another cluster; 0 for no limit."""
    on = ["dev", _link_to(to), "root"]
    if not kbit:
        step([*_enter(pid), "sh", "-c", f"tc qdisc del {' '.join(on)} 2>/dev/null || true"])
        return
    bucket = ["tbf", "rate", f"{kbit}kbit", "burst", "64kb", "latency", "200ms"]
    step([*_enter(pid), "tc", "qdisc", "replace", *on, *bucket])


def _raise(pid: int, here: Member, there: Member) -> None:
    # Without an IPv6 address the kernel sends nothing of its own there, so bytes on the link are those of programs.
    step([*_enter(pid), "ip", "link", "set", _link_to(there), "addrgenmode", "none", "up"])
    step([*_enter(pid), "ip", "route", "replace", there.address, "dev", _link_to(there), "src", here.address])


def _link_to(member: Member) -> str:
    return f"to-{member.letter}"
