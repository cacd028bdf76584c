"""docs/migration.md and the page for users: the examples are cluster files, the tables are those of the code."""

import re
import shlex
import sys
from dataclasses import fields
from pathlib import Path

from migration.cli.for_users import mgsub
from migration.config.cluster_file import Cluster, Here, Limits
from migration.config.read_cluster_file import parse_cluster_file
from policy.migration.job_states_and_transitions import OFFERED, STATES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "migration.md").read_text()
FOR_USERS = (DOCS / "migration-for-users.md").read_text()


def test_the_examples_are_a_cluster_file_and_a_pause() -> None:
    example, pause = (tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
    file = parse_cluster_file(example, "docs/migration.md")
    assert [other.name for other in file.others] == ["b"]
    assert file.here.account("b", "alice") == "al"
    here = parse_cluster_file({**example, "here": {**example["here"], **pause["here"]}}, "docs/migration.md").here
    assert (here.sends_to("b"), here.takes_from("b")) == (False, False)


def test_every_state_is_in_the_table() -> None:
    section = PAGE[PAGE.index("### States") :]
    section = section[: section.index("\n## ")]
    assert re.findall(r"^\| ([A-Z]\w+) \|", section, re.MULTILINE) == [state for state in STATES if state != OFFERED]


def test_every_state_is_explained_to_users() -> None:
    section = FOR_USERS[FOR_USERS.index("| state |") :]
    firsts = re.findall(r"^\| ([A-Z][\w, ]+) \|", section, re.MULTILINE)
    assert ", ".join(firsts).split(", ") == [state for state in STATES if state != OFFERED]


def test_the_batch_is_one_that_mgsub_reads() -> None:
    (line,) = re.findall(r"^\$ mgsub (.*)$", FOR_USERS, re.MULTILINE)
    given = mgsub.main.make_context("mgsub", shlex.split(line)).params
    assert (given["cores"], given["walltime"], given["words"]) == (64, 14_400, ("case01", "./solver", "input.dat"))


def test_the_bounds_are_the_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", PAGE, re.MULTILINE)
    assert len(rows) == 4
    assert {name: int(value.replace(",", "")) for name, value in rows} == {
        name: getattr(Limits(), name) for name, _ in rows
    }


def test_every_key_of_the_cluster_file_is_in_its_table() -> None:
    for kind, table in ((Cluster, "[[cluster]]"), (Here, "[here]"), (Limits, "[limits]")):
        start = PAGE.index(f"| `{table}` |")
        rows = PAGE[start : PAGE.index("\n\n", start)]
        named = [name for row in rows.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
        assert sorted(named) == sorted(one.name for one in fields(kind))


def test_every_option_of_mgsub_is_on_the_page_for_users() -> None:
    start = FOR_USERS.index("| `mgsub` |")
    rows = FOR_USERS[start : FOR_USERS.index("\n\n", start)]
    options = {option for parameter in mgsub.main.params for option in parameter.opts if option.startswith("-")}
    assert {option for option in options if f"`{option}" not in rows} == set()


def test_the_units_keep_jobs_processes_alive() -> None:
    folder = Path(__file__).parents[2] / "examples" / "migration"
    assert {unit.name for unit in folder.iterdir()} == {
        *(f"{program}{kind}" for program in ("mgsched", "mgrecv") for kind in (".service", ".timer", ".path")),
        *(f"{program}-early.service" for program in ("mgsched", "mgrecv")),
    }
    for unit in folder.glob("*.service"):
        assert "KillMode=process" in unit.read_text()
