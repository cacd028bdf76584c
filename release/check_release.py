"""``make release-check``: whether a release can be made of this checkout, before and after tests and builds.

Everything is committed, version and date are the same wherever they stand, and built packages are complete and of this
version.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import subprocess
import sys
from pathlib import Path

from hooks.deploy.bundle_hook import VERSION
from release.build_distribution import ROOT, SUMS

_HEADING = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)")


def find_version_problems(root: Path) -> list[str]:
    """Where the checkout does not name the version of the hooks, one line each. The changelog begins with a release and
    its date, or, on the way to one (``.dev``), with what is unreleased."""
    problems = []
    package = re.findall(r'^version = "(.+)"$', (root / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    if package != [VERSION]:
        problems.append(f"pyproject.toml: version {', '.join(package)}, but hooks/deploy/bundle_hook.py has {VERSION}")
    if f"Version {VERSION}" not in (root / "README.md").read_text(encoding="utf-8"):
        problems.append(f"README.md: does not say 'Version {VERSION}'")
    headings = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    release, _, unfinished = VERSION.partition(".dev")
    dated = [_HEADING.fullmatch(heading) for heading in headings]
    first = dated[0] if dated else None
    if unfinished and headings[:1] != ["[Unreleased]"]:
        problems.append(f"CHANGELOG.md: begins with {headings[:1]}, not with [Unreleased], as {VERSION} is no release")
    if not unfinished and (first is None or first[1] != release):
        problems.append(f"CHANGELOG.md: begins with {headings[:1]}, not with [{release}] and its date")
    for heading, parts in list(zip(headings, dated))[1 if unfinished else 0 :]:
        if parts is None:
            problems.append(f"CHANGELOG.md: the heading {heading!r} is not of the form [1.2.3] - 2026-01-31")
    dates = [parts[2] for parts in dated if parts is not None]
    if dates != sorted(dates, reverse=True):
        problems.append(f"CHANGELOG.md: its dates do not go backwards: {', '.join(dates)}")
    return problems


def find_checkout_problems(root: Path, today: datetime.date) -> list[str]:
    """Why no release can be made of what is committed in this checkout, one line each."""
    problems = find_version_problems(root)
    if ".dev" in VERSION:
        problems.append(f"the version {VERSION} is that of development, not of a release")
    dates = _HEADING.findall((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if dates and dates[0][1] > today.isoformat():
        problems.append(f"CHANGELOG.md: the date {dates[0][1]} has not come yet")
    problems += [f"not committed: {line}" for line in _git(root, "status", "--porcelain").splitlines()]
    tagged = _git(root, "tag", "--list", f"v{VERSION}") and _git(root, "rev-parse", f"v{VERSION}^{{commit}}")
    if tagged and tagged != _git(root, "rev-parse", "HEAD"):
        problems.append(f"the tag v{VERSION} is on another commit, {tagged.strip()[:12]}: choose the next version")
    return problems


def find_package_problems(folder: Path, kinds: set[str]) -> list[str]:
    """What is wrong with the packages in a folder, one line each. ``kinds``: the endings of the files that must be
    there."""
    try:
        lines = (folder / SUMS).read_text(encoding="ascii").splitlines()
    except OSError as error:
        return [f"{folder / SUMS}: {error.strerror}"]
    sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    problems = []
    for name, digest in sums.items():
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            problems.append(f"{path}: is not the file that was built")
        if VERSION not in name:
            problems.append(f"{path}: is not of version {VERSION}")
    for kind in sorted(kinds - {Path(name).suffix for name in sums}):
        problems.append(f"{folder}: has no file {kind}")
    return problems


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Print the problems of the checkout, and of packages in the folders named; end with 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, help="The folder that `make dist` has built.")
    parser.add_argument("--compiled", type=Path, help="The folder that `make compiled-wheel` has built.")
    options = parser.parse_args()
    today = datetime.datetime.now(datetime.timezone.utc).date()
    problems = find_checkout_problems(ROOT, today)
    if options.dist is not None:
        problems += find_package_problems(options.dist, {".whl", ".gz", ".pyz", ".deb", ".rpm", ".json"})
    if options.compiled is not None:
        problems += find_package_problems(options.compiled, {".whl"})
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    if problems:
        sys.exit(f"no release: {len(problems)} to mend")
    sys.stdout.write(f"{VERSION} can be released: tag this commit v{VERSION}\n")


if __name__ == "__main__":
    main()
