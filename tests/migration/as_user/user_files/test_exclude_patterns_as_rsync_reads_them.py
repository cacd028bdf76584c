"""Exclude patterns leave out what rsync leaves out: held against rsync itself."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from migration.as_user.user_files.exclude_patterns_as_rsync_reads_them import Excluded

FOLDERS = ("logs", "logs/old", "a", "a/logs", "a/b", "a/b/logs", "a]", "x-y")
FILES = (
    "in", "in.dat", "logs/pipe", "logs/old/pipe", "a/logs/pipe", "a/b/logs/pipe", "a/b/in.dat", "a/in",
    "a]/b1", "x-y/[z]", "x-y/ü", "x-y/*", "+ in", "!", "a\\b", "x-y/Z",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).touch()
    (folder / "link").symlink_to("logs")
    return folder


def sent_by_rsync(folder: Path, patterns: list[str]) -> set[str]:
    filters = [f"--filter=- {pattern}" for pattern in patterns]
    argv = ["rsync", "-an", "--8-bit-output", "--out-format=%n", *filters, f"{folder}/", f"{folder}.none/"]
    listed = subprocess.run(argv, capture_output=True, check=True).stdout
    return {os.fsdecode(line).rstrip("/") for line in listed.splitlines()} - {"."}


def sent_by_ours(folder: Path, patterns: list[str]) -> set[str]:
    excluded = Excluded(patterns)
    names = {name: (folder / name).is_dir() for name in (*FOLDERS, *FILES)} | {"link": False}
    return {name for name, is_folder in names.items() if not excluded.has(name, is_folder=is_folder)}


@pytest.mark.parametrize(
    "pattern",
    [
        "logs", "logs/", "/logs", "in", "in.dat", "/in", "link/", "link", "in/", "logs/pipe", "/logs/pipe",
        "*/pipe", "/*/pipe", "logs/*", "logs/**", "logs/***", "/a/**", "**/pipe", "**pipe", "a**pipe",
        "/*.dat", "*.dat", "a/*.dat", "a/*/in.dat", "b/in.dat", "/b/in.dat", "?", "/?", "x?y", "a/?", "***",
        "**", "*", "/**", "[a-b]", "[!a-b]", "[^a]*", "a[]]", "[]a]*", "a[]", "[", "[a", "[[:alpha:]]",
        "[[:digit:]]", "[[:none:]]", "[[:]*", "b[0-9]", "b[1-]", "[a\\-z]", "x[-]y", "x[!/]y", "a/b[/]logs",
        "\\*", "*\\", "\\[z\\]", "[[]z]", "a\\b", "a\\\\b", "a\\\\*", "x-y/?", "x-y/??", "x-y/[ü]", "+ in",
        "- in", "!", "/", "//", "logs//", "a//b", "*/", "/*/", "**/", "a/*/",
    ],
)  # fmt: skip
def test_a_pattern_leaves_out_what_rsync_leaves_out(folder: Path, pattern: str) -> None:
    assert sent_by_ours(folder, [pattern]) == sent_by_rsync(folder, [pattern])


PIECES = st.sampled_from(
    [
        "*", "**", "***", "?", "/", "a", "b", "in", "logs", "pipe", "dat", ".", "-", "[", "]", "!", "^", "\\",
        "[a-z]", "[!b]",
    ]
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(PIECES, min_size=1, max_size=6).map("".join), min_size=1, max_size=2))
@example(["+ in", "!"])
def test_any_patterns_leave_out_what_rsync_leaves_out(folder: Path, patterns: list[str]) -> None:
    assert sent_by_ours(folder, patterns) == sent_by_rsync(folder, patterns), patterns


def test_an_empty_pattern_leaves_nothing_out() -> None:
    assert not Excluded([""]).has("a", is_folder=False)


@pytest.mark.parametrize("pattern", ["*a" * 5 + "b", "**a" * 5 + "b", "x/" + "*a" * 5 + "b"])
def test_a_pattern_of_many_stars_takes_no_longer_than_its_length(pattern: str) -> None:
    """The service looks through results by the patterns that their user has chosen."""
    began_s = time.process_time()
    assert not Excluded([pattern]).has(f"x/{'a' * 120}", is_folder=False)
    assert Excluded([pattern]).has(f"x/{'a' * 120}b", is_folder=False)
    assert time.process_time() - began_s < 1
