"""Compiles the modules of ``policy/`` and the loop of a replay with mypyc, for the Python that runs this and machines
of this kind.

The sources stay beside the native modules: other Pythons read them, and the hooks ship them. ``__init__`` files are not
compiled, since mypyc does not know a module's ``__getattr__``.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

_GROUP = "policy"
"""mypyc names the library after it in which all modules are: ``policy__mypyc``."""
REPLAY = ("sim/replay/replay.py", "sim/replay/job_life.py")
"""What of ``sim/`` runs for each event of a replay, and is compiled with ``policy/``."""
_FLAGS = ("--strict", "--config-file=", "--python-version", f"{sys.version_info[0]}.{sys.version_info[1]}")
_OPTIMIZE = "2"


def compile_policy(sources: Path, target: Path) -> list[Path]:
    """Compile ``policy/`` and :data:`REPLAY` of ``sources`` into ``target``, each native module at its package's place;
    returns them all.

    Raises SystemExit if a tool is missing, or with all output of mypyc and the C compiler if one of them fails.
    """
    demand_tools()
    with tempfile.TemporaryDirectory(prefix="pbsteer-mypyc-") as scratch:
        # With paths relative to the copy, no path of this machine comes into the modules.
        for name in (_GROUP, "sim"):
            shutil.copytree(sources / name, Path(scratch) / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        argv = [sys.executable, str(Path(__file__).resolve()), str(target.resolve())]
        # The linker's own command may name the folder of this Python's library, which the modules do not need.
        environment = {"LDSHARED": f"{find_compiler()} -shared", **os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(argv, cwd=scratch, check=False, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"policy/ could not be compiled:\n{done.stdout}{done.stderr}")
    return sorted(target.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"))


def demand_tools() -> None:
    """Raises SystemExit with each tool that compiling needs and that is not there."""
    missing = [f"the Python package {name} (make dev)" for name in ("mypyc", "setuptools") if find_spec(name) is None]
    compiler = shlex.split(find_compiler())[0]
    if shutil.which(compiler) is None:
        missing.append(f"the C compiler {compiler} (in Debian the package gcc; CC names another)")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        missing.append(f"{header} (in Debian the package python3-dev)")
    if missing:
        raise SystemExit(f"policy/ cannot be compiled without {' and '.join(missing)}")


def find_compiler() -> str:
    """The command of the C compiler: ``CC``, or the one that this Python was built with."""
    return os.environ.get("CC") or str(sysconfig.get_config_var("CC") or "cc")


def _compile_here(target: str) -> None:
    """Compile ``policy/`` and :data:`REPLAY` of the current folder."""
    import setuptools  # noqa: PLC0415 - before mypyc, which else takes distutils
    from mypyc.build import mypycify  # noqa: PLC0415 - and both only if demand_tools has found them

    files = sorted(str(path) for path in Path(_GROUP).rglob("*.py") if path.name != "__init__.py")
    extensions = mypycify(
        [*_FLAGS, *files, *REPLAY], opt_level=_OPTIMIZE, debug_level="0", multi_file=True, group_name=_GROUP
    )
    argv = ["--quiet", "build_ext", "--build-lib", target, "--build-temp", "objects"]
    setuptools.setup(name=_GROUP, packages=[], ext_modules=extensions, script_args=argv)


if __name__ == "__main__":
    _compile_here(sys.argv[1])
