"""What ``make release-check`` says of a checkout that is no release, and of packages that are not its own."""

from __future__ import annotations

import datetime
import hashlib
import subprocess
from pathlib import Path

import pytest

from release import check_release
from release.check_release import find_checkout_problems, find_package_problems, find_version_problems

TODAY = datetime.date(2026, 3, 31)
CHANGELOG = "# Changelog\n\n## [1.2.3] - 2026-03-31\n\n## [1.2.2] - 2026-02-01\n"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean checkout of version 1.2.3, as it is before the tag."""
    monkeypatch.setattr(check_release, "VERSION", "1.2.3")
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "a")
        monkeypatch.setenv(f"{name}_EMAIL", "a@localhost")
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (folder / "README.md").write_text("Version 1.2.3.\n")
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    git(folder, "init", "-q")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


def test_a_clean_checkout_with_one_version_and_date_can_be_released(checkout: Path) -> None:
    assert find_checkout_problems(checkout, TODAY) == []
    git(checkout, "tag", "v1.2.3")
    assert find_checkout_problems(checkout, TODAY) == []


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("pyproject.toml", 'version = "1.2.4"\n', "pyproject.toml: version 1.2.4, but"),
        ("README.md", "Version 1.2.\n", "README.md: does not say 'Version 1.2.3'"),
        ("CHANGELOG.md", CHANGELOG.replace("1.2.3] - 2026-03-31", "Unreleased]"), "not with [1.2.3] and its date"),
        ("CHANGELOG.md", CHANGELOG.replace("] - 2026-02", "], 2026-02"), "is not of the form"),
        ("CHANGELOG.md", CHANGELOG.replace("2026-02", "2026-04"), "its dates do not go backwards"),
        ("CHANGELOG.md", CHANGELOG.replace("03-31", "04-01"), "the date 2026-04-01 has not come yet"),
    ],
)
def test_each_place_that_differs_is_named(checkout: Path, file: str, text: str, problem: str) -> None:
    (checkout / file).write_text(text)
    commit(checkout)
    assert any(problem in line for line in find_checkout_problems(checkout, TODAY))


def test_on_the_way_to_a_release_the_changelog_begins_with_what_is_unreleased(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_release, "VERSION", "1.2.4.dev0")
    (checkout / "pyproject.toml").write_text('version = "1.2.4.dev0"\n')
    (checkout / "README.md").write_text("Version 1.2.4.dev0.\n")
    assert find_version_problems(checkout) == [
        "CHANGELOG.md: begins with ['[1.2.3] - 2026-03-31'], not with [Unreleased], as 1.2.4.dev0 is no release"
    ]
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("## [1.2.3]", "## [Unreleased]\n\n## [1.2.3]"))
    assert find_version_problems(checkout) == []
    assert "the version 1.2.4.dev0 is that of development, not of a release" in find_checkout_problems(checkout, TODAY)


def test_what_is_not_committed_is_named(checkout: Path) -> None:
    (checkout / "new.py").write_text("")
    assert find_checkout_problems(checkout, TODAY) == ["not committed: ?? new.py"]


def test_a_version_that_is_tagged_elsewhere_is_not_released_again(checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    commit(checkout)
    (problem,) = find_checkout_problems(checkout, TODAY)
    assert problem.startswith("the tag v1.2.3 is on another commit, ")


def test_packages_are_those_that_were_built_of_this_version_and_of_every_kind(checkout: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dist"
    assert find_package_problems(folder, {".whl"}) == [f"{folder}/SHA256SUMS: No such file or directory"]
    folder.mkdir()
    names = ("pbsteer-1.2.3.whl", "pbsteer-1.2.2.tar.gz")
    for name in names:
        (folder / name).write_text(name)
    sums = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names)
    (folder / "SHA256SUMS").write_text(sums)
    assert find_package_problems(folder, {".whl", ".deb"}) == [
        f"{folder}/pbsteer-1.2.2.tar.gz: is not of version 1.2.3",
        f"{folder}: has no file .deb",
    ]
    (folder / names[0]).write_text("other")
    assert find_package_problems(folder, {".whl"})[0] == f"{folder}/pbsteer-1.2.3.whl: is not the file that was built"
