"""Every command in the documentation exists: pbsteer's and the migration programs' with their options, make's targets,
modules that Python runs."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from migration.cli.for_service import mgproc_job_process_at_target, mgrecv_pass_at_target, mgsched_pass_at_source
from migration.cli.for_users import findavl_idle_for_other_clusters, mgstat, mgstop, mgsub
from tui.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
_BLOCK = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
# What pbsteer writes into the comments of vnodes and onto jobs begins with its name as well.
_TEXTS = ("pbsteer drain by", "pbsteer for=")
_BEGINNINGS = re.compile(r"^(?:[$#] )?(?:sudo )?(?:\S*/)?(pbsteer|mg[a-z]+|findavl|make|python3?)(?= )(.*)", re.DOTALL)


def commands() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The page and the words of each command, as a user would type them."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = [line for block in _BLOCK.findall(text) for line in block.splitlines()]
        lines += [span.replace("\n", " ") for span in _INLINE.findall(_BLOCK.sub("", text))]
        for line in lines:
            begun = _BEGINNINGS.match(line)
            words = words_of(begun[2]) if begun else None
            if begun and words and not line.startswith(_TEXTS):
                for chosen in itertools.product(*map(alternatives, words)):
                    yield page.name, (begun[1], *chosen)


def alternatives(word: str) -> list[str]:
    """What may be typed for a word: ``hold|release`` stands for both."""
    return word.split("|") if re.fullmatch(r"[a-z]+(\|[a-z]+)+", word) else [word]


def words_of(line: str) -> tuple[str, ...] | None:
    """The words up to a pipe, a redirection or an explanation, without the brackets around what may be left out; None
    for prose."""
    line = re.split(r"\s{3,}", f".{line}")[0][1:]
    try:
        words = shlex.split(re.sub(r"\\\||(?<= )\[|\](?= |$|\.\.\.)|\.\.\.", " ", line), comments=True)
    except ValueError:
        return None
    ends = [number for number, word in enumerate(words) if word in ("|", ">", "&&", ";")]
    return tuple(words[: min(ends, default=len(words))])


def check_options(words: tuple[str, ...], program: click.Command = main) -> None:
    """Raises click.UsageError for a subcommand, an option or a number of arguments that the program does not have."""
    command = program
    rest = list(words)
    parent: click.Context | None = None
    while True:
        context = click.Context(command, parent=parent, info_name=command.name)
        _, rest, _ = command.make_parser(context).parse_args(rest)
        if not isinstance(command, click.Group):
            if rest:
                raise click.UsageError(f"too many arguments: {rest}")
            return
        if not rest:
            return
        _, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, parent = found, context


ALL = sorted(set(commands()))
MIGRATION_PROGRAMS = {
    "findavl": findavl_idle_for_other_clusters.main,
    "mgproc": mgproc_job_process_at_target.main,
    "mgrecv": mgrecv_pass_at_target.main,
    "mgsched": mgsched_pass_at_source.main,
    "mgstat": mgstat.main,
    "mgstop": mgstop.main,
    "mgsub": mgsub.main,
}


@pytest.mark.parametrize(
    ("page", "words"), [pytest.param(p, w[1:], id=f"{p}:{' '.join(w)}") for p, w in ALL if w[0] == "pbsteer"]
)
def test_the_command_is_one_of_pbsteers(page: str, words: tuple[str, ...]) -> None:
    try:
        check_options(words)
    except click.UsageError as error:
        pytest.fail(f"{page}: pbsteer {' '.join(words)}: {error.format_message()}")


@pytest.mark.parametrize(
    "line", ["hook plan", "hooks plam", "simulate --polcy easy", "check a.toml b.toml", "quota show --jsn", "--dmo"]
)
def test_a_command_that_does_not_exist_would_be_found(line: str) -> None:
    with pytest.raises(click.UsageError):
        check_options(tuple(line.split()))


@pytest.mark.parametrize(
    ("page", "words"), [pytest.param(p, w, id=f"{p}:{' '.join(w)}") for p, w in ALL if w[0] in MIGRATION_PROGRAMS]
)
def test_options_of_migration_programs(page: str, words: tuple[str, ...]) -> None:
    try:
        check_options(words[1:], MIGRATION_PROGRAMS[words[0]])
    except click.UsageError as error:
        pytest.fail(f"{page}: {' '.join(words)}: {error.format_message()}")


def test_targets_of_make_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for _, words in ALL if words[0] == "make" for word in words[1:] if "=" not in word}
    assert {"demo", "check", "venv"} <= named <= targets


def test_modules_that_python_runs_are_there() -> None:
    modules = {words[words.index("-m") + 1] for _, words in ALL if words[0].startswith("python") and "-m" in words}
    ours = {module for module in modules if (ROOT / module.split(".")[0]).is_dir()}
    assert ours
    for module in ours:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_pages_have_the_commands_of_the_first_page() -> None:
    subcommands = {words[1] for _, words in ALL if words[0] == "pbsteer" and len(words) > 1}
    assert set(main.list_commands(click.Context(main))) <= subcommands
