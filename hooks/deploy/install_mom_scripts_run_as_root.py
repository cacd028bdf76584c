"""Installs the scripts for the hosts that run jobs, with the lines for the MoM's configuration.

A MoM runs them as root, so only root may write them, whatever the umask is, and they are installed only where no other
user could exchange them. Each is written whole or not at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from hooks.scripts.root_only_path import why_not_root_only
from hooks.store.atomic_file import replace_file
from policy.settings.site_settings import CHECKPOINT_ACTION_S

SCRIPTS = {"checkpoint.py": 0o755, "profile.sh": 0o644}
"""The scripts, with their modes."""

_SHIPPED = Path(__file__).parents[1] / "scripts"
_PACKAGE = "hooks.scripts."
_ENTRY = "checkpoint"


def install_scripts(folder: Path, pbs_exec: Path, criu: str | None) -> Iterator[str]:
    """Write the scripts into a folder; returns the lines for the MoM's configuration, with CRIU's if ``criu`` names it.

    Raises OSError if that fails, ValueError for a path that a MoM's configuration line cannot hold, or that a user
    other than root could exchange.
    """
    for path in (str(folder), str(pbs_exec), *([criu] if criu is not None else [])):
        if not path or not path.isprintable() or any(character in " #\"'" for character in path):
            raise ValueError(f"{path!r}: allowed in a MoM's configuration is a path without blanks, quotes and #")
    for place in (folder, *([Path(criu)] if criu is not None and "/" in criu else [])):
        why = why_not_root_only(place)
        if why:
            raise ValueError(why)
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, mode in SCRIPTS.items():
        replace_file(folder / name, read_script(name), mode=mode)
    what = ("dump", "restore") if criu is not None else ("save", "restart")
    words = "%jobid %sid %taskid %path" + (f" {criu}" if criu is not None else "")
    # Isolated (-I): otherwise Python would first run files from the job user's home directory, as root.
    run = f"{pbs_exec}/bin/pbs_python -I {folder}/{_ENTRY}.py"
    return iter(
        f"$action {action} {CHECKPOINT_ACTION_S} !{run} {part} {words}"
        for action, part in zip(("checkpoint_abort", "restart"), what)
    )


def read_script(name: str) -> bytes:
    """The text installed under this name: the file of :mod:`hooks.scripts`, joined with all that it imports from there,
    since an isolated Python does not look beside the script that it runs."""
    text = (_SHIPPED / name).read_text(encoding="utf-8")
    if not name.endswith(".py"):
        return text.encode("utf-8")
    parts: dict[str, str] = {}
    _gather(name.removesuffix(".py"), parts)
    docstring = ast.get_docstring(ast.parse(text), clean=False)
    return "\n".join([f'"""{docstring}"""\n\nfrom __future__ import annotations\n', *parts.values()]).encode("utf-8")


def _gather(name: str, parts: dict[str, str]) -> None:
    """Add this script, after those that it imports, without its docstring and without the imports between them."""
    text = (_SHIPPED / f"{name}.py").read_text(encoding="utf-8")
    body, lines = ast.parse(text).body, text.splitlines()
    joins = [node for node in body if isinstance(node, ast.ImportFrom)]
    for node in joins:
        if node.module is not None and node.module.startswith(_PACKAGE) and node.module[len(_PACKAGE) :] not in parts:
            _gather(node.module[len(_PACKAGE) :], parts)
    left_out = [body[0], *(node for node in joins if node.module == "__future__" or _is_of_package(node))]
    for each in left_out:
        for number in range(each.lineno - 1, each.end_lineno or each.lineno):
            lines[number] = ""
    parts[name] = f"# {name}.py\n\n" + "\n".join(lines).strip("\n") + "\n"


def _is_of_package(node: ast.ImportFrom) -> bool:
    return node.module is not None and node.module.startswith(_PACKAGE)
