"""A centre as a whole: up, down, status, its links, and the passes of migration.

Each cluster is an ordinary testbed, called CENTRE-LETTER, and all that a centre adds is on the hosts of these: links
between their servers, sshd with its keys, the service's account and files. So taking down the testbeds takes down all.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from container import testbed as testbeds
from container.centre import cuttable_links_between_clusters, member_sshd_and_cluster_toml
from container.centre.centre_spec import LETTERS, SERVICE, CentreSpec, Member, Programs
from container.centre.find_closed_folder_above_program import find_closed_to_program
from container.centre.start_sshd import start_sshd
from container.hosts.find_and_enter_running_host import find_host_process
from container.per_host_etc_and_var import replace_file
from container.testbed import DEFAULT_STATE, Testbed, run_on
from container.testbed_spec import TestbedError

LANDING = "landing"
_STEP_S = 30.0
_PASSES = "passes"
_LOOK_EVERY_S = 0.2
_RUN_PASSES = 'while sleep "$1"; do "$2"; "$3"; done'
"""What the timers do: both programs, at intervals."""
_RUN_EARLY = """look_s="$1" program="$2"; shift 2
while sleep "$look_s"; do
    for watched in "$@"; do
        for one in "$watched" "$watched"/*; do
            if [ -f "$one" ]; then
                "$program" --early
                break 2
            fi
        done
    done
done"""
"""What a unit does that watches files, and those of a folder: an early pass of its program as long as there is one."""
_SSH_KEYGEN = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "")


@dataclass(frozen=True)
class Centre:
    """A centre that is up, with the testbed of each cluster, by its letter."""

    spec: CentreSpec
    clusters: dict[str, Testbed]

    def members(self) -> Iterator[tuple[Member, Testbed]]:
        """Each cluster, with its testbed."""
        for member in self.spec.members:
            yield member, self.clusters[member.letter]


def up(
    spec: CentreSpec,
    programs: Programs,
    every_s: float = 0.0,
    state: Path = DEFAULT_STATE,
    say: Callable[[str], None] = lambda _: None,
) -> Centre:
    """Bring a centre up; ``every_s`` is the time between two passes of migration, 0 for none.

    A call that fails or is interrupted takes down what it made. `TestbedError` if one of its testbeds is up already.
    """
    for member in spec.members:
        if testbeds.status(member.testbed.name, state).exists:
            raise TestbedError(
                f"testbed {member.testbed.name!r} is there already; take the centre down first: {_down(spec.name)}"
            )
    _look_at_programs(programs, say)
    try:
        clusters = {}
        for member in spec.members:
            say(f"cluster {member.letter}, {member.testbed.scheduler}")
            clusters[member.letter], _ = testbeds.up(member.testbed, state, say)
        centre = Centre(spec, clusters)
        say("joining the clusters")
        cuttable_links_between_clusters.connect(
            [(member, _server_process(testbed)) for member, testbed in centre.members()]
        )
        _furnish(centre, programs)
        if every_s:
            _start_passes(centre, programs, every_s)
    except BaseException:
        with contextlib.suppress(OSError):
            say("taking down what was started")
        down(spec.name, state)
        raise
    return centre


def _look_at_programs(programs: Programs, say: Callable[[str], None]) -> None:
    """`TestbedError` if there are no programs; a warning if the service's account cannot run them."""
    program = Path(programs.path("mgsched"))
    if not program.is_file():
        raise TestbedError(f"{programs.folder} has no program {program.name}; --programs names the folder of all")
    closed = find_closed_to_program(program)
    if closed is not None:
        say(f"warning: account {SERVICE.name} cannot run the programs in {programs.folder}: {closed} is closed to it")


def down(name: str, state: Path = DEFAULT_STATE) -> bool:
    """Take all testbeds of a centre down; returns whether there was any. Safe to repeat."""
    removed = [testbeds.down(f"{name}-{letter}", state) for letter in LETTERS]
    return any(removed)


def open_centre(name: str, state: Path = DEFAULT_STATE) -> Centre:
    """The centre called ``name``; `TestbedError` if there is none, or a cluster of it is missing."""
    found = {}
    for letter in LETTERS:
        if not testbeds.find_folder(f"{name}-{letter}", state).exists():
            break
        found[letter] = testbeds.open_testbed(f"{name}-{letter}", state)
    if len(found) < 2:
        raise TestbedError(f"no centre {name!r}; start one: pbsteer testbed centre up")
    first = found["a"].spec
    schedulers = tuple(testbed.spec.scheduler for testbed in found.values())
    return Centre(CentreSpec(name, schedulers, first.moms, first.cores, first.pbs_exec), found)


def cut_link(centre: Centre, one: str, other: str) -> None:
    """Cut the link between two clusters: neither has an error, and open connections hang."""
    for pid, there in _ends(centre, one, other):
        cuttable_links_between_clusters.cut(pid, there)


def restore_link(centre: Centre, one: str, other: str) -> None:
    """Make the link between two clusters work again."""
    for pid, there in _ends(centre, one, other):
        cuttable_links_between_clusters.restore(pid, there)


def limit_link(centre: Centre, one: str, other: str, kbit: int) -> None:
    """Let each of two clusters send at most ``kbit`` kbit/s to the other; 0 for no limit."""
    for pid, there in _ends(centre, one, other):
        cuttable_links_between_clusters.limit_rate(pid, there, kbit)


def _ends(centre: Centre, one: str, other: str) -> Iterator[tuple[int, Member]]:
    """Both directions of a link: the first process of the sending server, and the cluster that receives."""
    members = [centre.spec.find(letter) for letter in (one, other)]
    for here, there in (members, reversed(members)):
        yield _server_process(centre.clusters[here.letter]), there


def run_pass(centre: Centre, letter: str, programs: Programs, name: str, timeout_s: float = 120.0) -> str:
    """Run one pass (``mgsched`` or ``mgrecv``) as the service; returns what it printed, `TestbedError` if it fails."""
    testbed = centre.clusters[letter]
    finished = run_on(testbed, "server", [programs.path(name)], user=SERVICE.name, timeout_s=timeout_s)
    return finished.demand_success().stdout


def _furnish(centre: Centre, programs: Programs) -> None:
    """Give each server sshd, the service's files and keys, and the queue of guests."""
    host_keys = {member.letter: _make_host_key(testbed) for member, testbed in centre.members()}
    keys = {member.letter: _make_service_key(testbed) for member, testbed in centre.members()}
    landings = {member.letter: _make_landing(testbed) for member, testbed in centre.members()}
    for member, testbed in centre.members():
        etc = testbed.folder / testbed.spec.server.name / "etc"
        _append(etc / "hosts", member_sshd_and_cluster_toml.write_names(centre.spec, member))
        replace_file(etc / "ssh" / "sshd_config", member_sshd_and_cluster_toml.write_sshd_config(member, programs))
        replace_file(
            etc / "ssh" / "ssh_known_hosts", member_sshd_and_cluster_toml.write_known_hosts(centre.spec, host_keys)
        )
        sudoers = etc / "sudoers.d" / "pbsteer-mg"
        sudoers.write_text(member_sshd_and_cluster_toml.write_sudoers(programs))
        sudoers.chmod(0o440)
        _make_mg_home(testbed, member_sshd_and_cluster_toml.write_cluster_file(centre.spec, member, keys, landings))
        if testbed.spec.scheduler == "pbs":
            qmgr = [f"{testbed.spec.pbs_exec}/bin/qmgr"]
            run_on(testbed, "server", qmgr, stdin=member_sshd_and_cluster_toml.write_queue_settings()).demand_success()
        _as_root(testbed, "install", "-d", "-m", "0755", "/run/sshd")
        start_sshd(testbed)


def _make_host_key(testbed: Testbed) -> str:
    """Give a server a host key of its own; returns the public half."""
    folder = testbed.folder / testbed.spec.server.name / "etc" / "ssh"
    for old in folder.glob("ssh_host_*"):
        old.unlink()
    _as_root(testbed, *_SSH_KEYGEN, "-C", "", "-f", "/etc/ssh/ssh_host_ed25519_key")
    return (folder / "ssh_host_ed25519_key.pub").read_text().strip()


def _make_service_key(testbed: Testbed) -> str:
    """Give the service a key; returns the public half."""
    folder = testbed.home(SERVICE.name) / ".ssh"
    _as_service(testbed, "mkdir", "-m", "0700", str(folder))
    _as_service(testbed, *_SSH_KEYGEN, "-C", "", "-f", str(folder / "id_ed25519"))
    return (folder / "id_ed25519.pub").read_text().strip()


def _make_landing(testbed: Testbed) -> Path:
    """Make the folder of guests, in which every user may make a folder, as in /tmp."""
    folder = testbed.folder / LANDING
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def _make_mg_home(testbed: Testbed, cluster_file: str) -> None:
    """Make MG_HOME with the drop box of users and cluster.toml, all of the service's."""
    home = str(member_sshd_and_cluster_toml.MG_HOME)
    owner = ["-o", SERVICE.name, "-g", SERVICE.group]
    _as_root(testbed, "install", "-d", *owner, "-m", "0755", home)
    _as_root(testbed, "install", "-d", *owner, "-m", "1733", f"{home}/incoming")
    write = ["install", *owner, "-m", "0644", "/dev/stdin", f"{home}/cluster.toml"]
    run_on(testbed, "server", write, stdin=cluster_file).demand_success()


def _start_passes(centre: Centre, programs: Programs, every_s: float) -> None:
    """Run both passes every ``every_s`` seconds on each server, and early ones as soon as something calls for them, as
    the service, until the testbed ends.
    """
    home, look_s = member_sshd_and_cluster_toml.MG_HOME, f"{_LOOK_EVERY_S:g}"
    source, target = programs.path("mgsched"), programs.path("mgrecv")
    loops = (
        (_RUN_PASSES, f"{every_s:g}", source, target),
        (_RUN_EARLY, look_s, source, f"{home}/incoming", f"{home}/mgsched.call"),
        (_RUN_EARLY, look_s, target, f"{home}/mgrecv.call"),
    )
    for _, testbed in centre.members():
        log = shlex.quote(str(testbed.home(SERVICE.name) / f"{_PASSES}.log"))
        for script, *words in loops:
            _as_service(
                testbed, "setsid", "--fork", "sh", "-c", f"exec >> {log} 2>&1 < /dev/null\n{script}", _PASSES, *words
            )


def _as_root(testbed: Testbed, *argv: str) -> None:
    run_on(testbed, "server", argv, timeout_s=_STEP_S, cwd=Path("/")).demand_success()


def _as_service(testbed: Testbed, *argv: str) -> None:
    run_on(testbed, "server", argv, user=SERVICE.name, timeout_s=_STEP_S).demand_success()


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def _server_process(testbed: Testbed) -> int:
    pid = find_host_process(testbed.folder, testbed.spec.server)
    if pid is None:
        raise TestbedError(f"the server of testbed {testbed.spec.name!r} does not run")
    return pid


def _down(name: str) -> str:
    return f"pbsteer testbed centre down --name {name}"
