"""The wheel of ``make compiled-wheel``, which then runs these tests: it is laid out as the pure wheel, and decides the
same.

Compiling takes minutes, so that no other target runs them. Tests of ``policy/`` and of replays run here on the native
modules, in a copy of the checkout.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from hooks.deploy.bundle_hook import EVENTS, VERSION, build
from release.compile_policy import REPLAY
from sim.replay.named_policies import NAMES
from tests.release.conftest import ROOT

pytestmark = pytest.mark.compiled_wheel

BUILT = ROOT / "dist-compiled"
TREE = "pbsteer/tree/"
LIBRARY = "policy__mypyc"
"""The library in which all native modules are; each of them is only an entry into it."""
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "dist-compiled", "*.so")
SUITES = ("tests/policy", "tests/golden", "tests/sim/replay", "tests/sim/tune", "tests/tui/forecast")
"""What runs on native modules: all tests of decisions, and of what sends values of ``policy/`` to other processes."""
COUNTS_CALLS = "tests/policy/preemption/test_preemptible_runs_cache.py"
"""Left out: it counts calls by replacing parts of a module, and native modules call each other directly."""
WORKLOADS = {
    "drawn": ("--generate", "600", "--cluster", "24x4", "--users", "6", "--load", "1.3"),
    "applications": ("--generate", "240", "--cluster", "24x4", "--applications", "mixed,memory"),
}
RUN_S = 900


def run(folder: Path, *argv: object) -> str:
    """What this Python prints, started in a folder whose packages it imports."""
    words = [sys.executable, *(str(word) for word in argv)]
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True, timeout=RUN_S)
    assert done.returncode == 0, f"{words}\n{done.stdout[-8000:]}{done.stderr[-8000:]}"
    return done.stdout


def is_native(name: str) -> bool:
    return name.endswith(tuple(EXTENSION_SUFFIXES))


@pytest.fixture(scope="module")
def wheel() -> Path:
    (found,) = BUILT.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip unpacks it."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def compiled(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the wheel's native modules at their places, which Python imports before sources."""
    root = tmp_path_factory.mktemp("compiled") / "checkout"
    shutil.copytree(ROOT, root, ignore=NOT_COPIED)
    tree = installed / TREE
    for path in tree.rglob("*.so"):
        shutil.copy(path, root / path.relative_to(tree))
    demand_native = (
        "from policy.cycle import engine\nfrom sim.replay import replay\n"
        "for each in (engine, replay):\n    assert each.__file__.endswith('.so'), each.__file__\n"
    )
    (root / "decides_natively.py").write_text(demand_native, encoding="ascii")
    return root


def test_every_module_of_policy_and_the_replay_loop_are_compiled_and_lie_beside_their_sources(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        sources = {name: archive.read(name) for name in names if name.endswith(".py") and name.startswith(TREE)}
    assert {name.partition("/")[0] for name in names} == {"pbsteer", f"pbsteer-{VERSION}.dist-info"}
    for name, text in sources.items():
        assert text == (ROOT / name.removeprefix(TREE)).read_bytes(), f"{name} has changed since: make compiled-wheel"
    native = {name.partition(".")[0] for name in names if is_native(name)}
    modules = {name.removesuffix(".py") for name in sources if name.startswith(f"{TREE}policy/")}
    modules |= {TREE + name.removesuffix(".py") for name in REPLAY}
    assert native == {name for name in modules if not name.endswith("/__init__")} | {TREE + LIBRARY}


def test_the_wheel_is_for_this_python_and_machine_and_says_that_policy_is_compiled(
    wheel: Path, installed: Path
) -> None:
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert f"-{python}-{python}-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    assert run(installed, "-m", "pbsteer", "--version") == f"pbsteer, version {VERSION}, policy compiled\n"


def test_hooks_deployed_from_it_are_those_of_the_sources(installed: Path) -> None:
    program = "import sys; from hooks.deploy.bundle_hook import build; sys.stdout.write(build(sys.argv[1]))"
    for event in EVENTS:
        assert run(installed / TREE, "-c", program, event) == build(event)


@pytest.mark.parametrize("suite", SUITES)
def test_the_tests_hold_for_the_native_modules(compiled: Path, suite: str) -> None:
    options = ("-p", "decides_natively", "-p", "no:cacheprovider", "--deselect", COUNTS_CALLS)
    printed = run(compiled, "-m", "pytest", *options, suite)
    assert "passed" in printed


@pytest.mark.parametrize("workload", WORKLOADS)
def test_every_policy_replays_the_same_to_the_byte(compiled: Path, tmp_path: Path, workload: str) -> None:
    words = [*WORKLOADS[workload], *(word for name in NAMES for word in ("--policy", name))]
    for checkout, name in ((ROOT, "source"), (compiled, "native")):
        folder = tmp_path / name
        folder.mkdir()
        files = ("--jobs-csv", folder / "jobs.csv", "--runs-csv", folder / "runs.csv")
        run(checkout, "-m", "tui.cli.main", "simulate", *words, *files)
    source, native = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("source", "native")
    )
    assert len(source) == 2 * len(NAMES)
    assert sorted(source) == sorted(native)
    assert [name for name, content in source.items() if native[name] != content] == []
