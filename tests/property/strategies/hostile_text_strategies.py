"""Texts that PBS's attributes should not have but might: numbers beyond any calendar or word size, requests and times
that nothing can mean, and characters that terminals and parsers act on.

Some come from users, some from another program, another version or a fault of PBS; what reads them is to survive all.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from hooks.pbs.custom_resources import RESOURCES
from hooks.pbs.job_attributes.victim_mark import MARK_KEY

_MANY = "9" * 400
NUMBERS = (
    "", "0", "-1", "1", "9" * 9, "9" * 17, "9" * 19, _MANY, "-" + "9" * 19, "1e5", "1e400", "nan", "inf", "-inf",
    "0x10", "٣", "²", " 5 ", "+5", "5.5", "1_000", "2147483648", "-2147483649", "9223372036854775808", "00:10:00",
    "99999999:99:99", "-1:-1:-1", "1:2:3:4", "1:", "::",
)  # fmt: skip
SIZES = ("0b", "1gb", "-1gb", "999999999999tb", "1pb", "5xb", "gb", "1.5gb", "1e3gb", _MANY + "gb", "٣gb", "1GB", "1gw")
TEXTS = (
    "", "a", "x" * 5000, "\n", "\r\n", "\x00", "\x1b[2J", "\u202eabc", "[red]x[/]", "%s%n", "{}", "{0}", "\\", "'\"",
    "a=b", "a:b", "a,b", "a;b", "é", "\udcff", "\U0001f600", "=1+1", "../..", "None", "True", "c=" + _MANY, "s", "h",
)  # fmt: skip
SELECTS = (
    "1:ncpus=1", "99999999999:ncpus=1", "1:ncpus=" + _MANY, "0:ncpus=1", "-1:ncpus=1", "1:ncpus=-1", "1:ncpus=0", "+",
    "1:ncpus=1:mem=1gb:mem=2gb", "1:host=zz", "1:vnode=v1:ncpus=1", "+".join(["1:ncpus=1"] * 300), "1:ncpus=1:x", "2:",
    "1:ncpus=1.5", "1:ncpus=1e3", "ncpus=2", "1:ncpus=1:mpiprocs=99999999999", "1:ngpus=1", "٣:ncpus=1", "1:ncpus=²",
    "1:mem=1e400gb", "3:ncpus=2:host=v1+1:ncpus=9", '1:ncpus=1:arch="a b"', "1:ncpus=1:walltime=5",
)  # fmt: skip
PLACES = (
    "", "free", "pack", "scatter", "vscatter", "excl", "exclhost", "scatter:exclhost:group=host", "group=", "x:y:z",
    "free:excl:shared",
)  # fmt: skip
DEPENDENCIES = (
    "after:1.s", "afterok:9.s@server", "on:1", "on:" + _MANY, "runone:1.s:2.s", "beforeok:1.s", "runone:", "after",
    "x:y", "afterany:" + ":".join(f"{number}.s" for number in range(300)), "afterok:1.s@h\\:99", "syncct:5",
)  # fmt: skip
VNODES = (
    "", "(v1:ncpus=2)", "(v9:ncpus=2)", f"(v1:ncpus={_MANY})", "(v1:ncpus=-2)", "(v1", "((v1))", "(v1:ncpus=²)",
    "(v1:ncpus=2+v2:ncpus=1)+(v1:mem=1gb)", "(v1:ncpus=1)+(v1:ncpus=1)",
)  # fmt: skip
TIMES = (
    "", "0", "-5", "1e10", "nan", "1795207000", "1795207300", "1795300000", "4102444800", "253402300800", "9" * 17,
    "67767976233532799", "67768036191676800", _MANY, "Sat Nov 21 03:28:00 2026",
)  # fmt: skip
STATES = ("", "Q", "H", "W", "T", "E", "R", "S", "U", "B", "X", "F", "M")
INDICES = ("", "2-5", "2-6:2", "7", "2-99999999999", "5-2", "3,5-9", "a", "-", "2-9999999:3", "٣-٥", "0-0")
RULES = (
    "", "x", "FREQ=DAILY;COUNT=3", "FREQ=WEEKLY;BYDAY=MO;UNTIL=99991231T000000Z", "FREQ=SECONDLY;COUNT=999999999",
    "FREQ=HOURLY;INTERVAL=0;COUNT=9", f"FREQ=HOURLY;INTERVAL={_MANY};COUNT=9", "FREQ=HOURLY;INTERVAL=99999999;COUNT=9",
    "FREQ=YEARLY;INTERVAL=99999;COUNT=3",
)  # fmt: skip

_USED = ("walltime", "cput", "ncpus", "mem", "cpupercent", "vmem")
OF_JOB: Mapping[str, tuple[str, ...]] = {
    **{f"Resource_List.{name}": NUMBERS for name in ("ncpus", "walltime", "cput", "licences", "ngpus")},
    **{f"Resource_List.{name}": NUMBERS for name in ("soft_walltime", "min_walltime", "max_walltime")},
    **{f"Resource_List.{name}": (*TEXTS, *NUMBERS, *SIZES, "memory", "stripe", "signal") for name in RESOURCES},
    **{f"resources_used.{name}": (*NUMBERS, *SIZES) for name in _USED},
    **dict.fromkeys(("Resource_List.select", "schedselect", "Resource_List.pbsteer_asked"), SELECTS),
    **dict.fromkeys(("qtime", "ctime", "stime", "etime", "mtime", "Execution_Time", "estimated.start_time"), TIMES),
    **dict.fromkeys(("Job_Name", "Account_Name", "project", "euser", "egroup", "comment", "Checkpoint"), TEXTS),
    **dict.fromkeys(("Output_Path", "Error_Path", "Variable_List", "Job_Owner", "run_version"), TEXTS),
    **dict.fromkeys(("substate", "run_count", "max_run_subjobs", "Priority", "session_id", "eligible_time"), NUMBERS),
    **dict.fromkeys(("array_indices_remaining", "array_indices_submitted"), INDICES),
    "Resource_List.mem": SIZES,
    "Resource_List.place": PLACES,
    "depend": DEPENDENCIES,
    "exec_vnode": VNODES,
    "job_state": STATES,
    "Rerunable": ("True", "False", "x", ""),
    "Hold_Types": ("n", "u", "uos", "p", "", "zz"),
    "reserve_ID": ("R1.server", ""),
    MARK_KEY: (*TEXTS, *NUMBERS),
}
"""By attribute of a job, the texts that it may have."""

OF_RESERVATION: Mapping[str, tuple[str, ...]] = {
    "reserve_state": ("0", "1", "2", "5", "7", "10", "RESV_CONFIRMED", "x", ""),
    "reserve_start": TIMES,
    "reserve_end": TIMES,
    "reserve_duration": NUMBERS,
    "reserve_retry": TIMES,
    "reserve_standing": ("1", "True", ""),
    "reserve_rrule": RULES,
    "reserve_count": NUMBERS,
    "reserve_index": NUMBERS,
    "reserve_timezone": ("", "Europe/Berlin", "../../etc/passwd", "x"),
    "reserve_execvnodes": ("", "3#(v1:ncpus=1){0,2}(v2:ncpus=1){1}", f"1#(v1:ncpus=1){{0-{_MANY}}}", "x"),
    "resv_nodes": VNODES,
    "Resource_List.select": SELECTS,
    "Resource_List.place": PLACES,
    "Reserve_Owner": TEXTS,
    "partition": TEXTS,
}
"""By attribute of a reservation, the texts that it may have."""

OF_VNODE: Mapping[str, tuple[str, ...]] = {
    "state": ("free", "job-busy", "offline", "down,offline", "state-unknown", "", "x"),
    "resources_available.ncpus": NUMBERS,
    "resources_available.mem": SIZES,
    "resources_available.pbsteer_reading": (*TEXTS, "t=1;idle=²"),
    "resources_assigned.ncpus": NUMBERS,
    "sharing": ("force_excl", "default_exclhost", "ignore_excl", "x"),
    "resv": ("R1.server", "R9.server", ",,", ""),
    "max_running": NUMBERS,
    "queue": ("workq", "gone"),
}
"""By attribute of a vnode, the texts that it may have."""


def changes(of_kind: Mapping[str, tuple[str, ...]], least: int, most: int) -> st.SearchStrategy[dict[str, str]]:
    """``least`` to ``most`` attributes of an object with such texts."""
    pair = st.sampled_from(sorted(of_kind)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(of_kind[name]))
    )
    return st.lists(pair, min_size=least, max_size=most).map(dict)
