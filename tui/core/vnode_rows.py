"""The columns of the vnodes view: state in words, cores and their bar, memory, accelerators, and who is on it."""

from __future__ import annotations

from tui.core.bars import share_bar
from tui.core.columns import Column
from tui.core.facts import amount, short_id, vnode_state
from tui.core.lines import Line, safe
from tui.core.world import World

_GIB = 1 << 20
_BAR_CELLS = 10


def vnode_columns(world: World) -> list[Column[str]]:
    """The columns over vnode names of this world."""
    vnodes = world.picture.vnodes
    counted = world.counted

    def used(name: str) -> int:
        return amount(vnodes[name], f"resources_assigned.{counted}")

    def total(name: str) -> int:
        return amount(vnodes[name], f"resources_available.{counted}")

    def free(name: str) -> int:
        return total(name) - used(name) if vnode_state(vnodes[name]).up else 0

    def state(name: str) -> str:
        found = vnode_state(vnodes[name])
        return found.words

    def show_state(name: str) -> Line:
        found = vnode_state(vnodes[name])
        role = "bad" if not found.up else "warn" if found.letter else ""
        return ((f"{found.letter or ' '} {safe(found.words)}", role),)

    def memory(name: str) -> Line:
        has = amount(vnodes[name], "resources_available.mem")
        left = has - amount(vnodes[name], "resources_assigned.mem")
        return ((f"{left / _GIB:,.0f} of {has / _GIB:,.0f} GB" if has else "-", ""),)

    def gpus_free(name: str) -> int:
        return amount(vnodes[name], "resources_available.ngpus") - amount(vnodes[name], "resources_assigned.ngpus")

    def gpus(name: str) -> Line:
        has = amount(vnodes[name], "resources_available.ngpus")
        return ((f"{gpus_free(name)} of {has}" if has else "-", ""),)

    def jobs(name: str) -> str:
        return " ".join(jobs_on(world, name))

    return [
        Column("vnode", "vnode", 14, lambda name: name, lambda name: ((safe(name), ""),)),
        Column("state", "state", 16, state, show_state),
        Column("used", "used", 6, used, lambda name: ((f"{used(name):,}", ""),), ">"),
        Column("cores", "of", 6, total, lambda name: ((f"{total(name):,}", ""),), ">"),
        Column("fill", "", _BAR_CELLS, free, lambda name: share_bar(used(name), total(name), _BAR_CELLS), rank=1),
        Column("free", "free", 5, free, lambda name: ((f"{free(name):,}", ""),), ">", 4),
        Column(
            "mem",
            "memory free",
            14,
            lambda name: (
                amount(vnodes[name], "resources_available.mem") - amount(vnodes[name], "resources_assigned.mem")
            ),
            memory,
            ">",
            2,
        ),
        Column("gpus", "gpus free", 9, gpus_free, gpus, ">", 3),
        Column("jobs", "jobs", 0, jobs, lambda name: ((safe(jobs(name)), "dim"),)),
    ]


def jobs_on(world: World, vnode: str) -> list[str]:
    """The short ids of the jobs on a vnode, each once, in the server's order."""
    listed = world.picture.vnodes[vnode].get("jobs", "")
    return list(dict.fromkeys(short_id(part.strip().partition("/")[0]) for part in listed.split(",") if part.strip()))
