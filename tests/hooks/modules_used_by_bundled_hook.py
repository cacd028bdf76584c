"""Which modules of a bundle its hook uses, found by the names that its functions use, from ``handle`` on.

Every branch counts, so that a module which is found here is not always loaded; one that is not found never does
anything. Names in annotations do not count.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hooks.deploy import bundle_hook

_ROOT = Path(bundle_hook.__file__).parents[2]
_OF_THE_BUNDLE = (("policy.model.printable_text", "printable"), ("policy.model.printable_text", "printable_lines"))


class _Names(NamedTuple):
    """The names that each definition of a module uses, and where the module's imported names come from."""

    uses: dict[str, set[str]]
    imports: dict[str, tuple[str, str]]


def modules_of(text: str) -> list[str]:
    """The modules of a bundle, in the order of loading."""
    return [line.split("'")[1] for line in text.splitlines() if line.startswith("_SOURCES['")]


def reached_modules(event: str) -> set[str]:
    """The modules with a definition that the hook of this event can come to."""
    left = [(f"hooks.entries.{event}", "handle"), *_OF_THE_BUNDLE]
    seen: set[tuple[str, str]] = set()
    reached: set[str] = set()
    while left:
        module, name = left.pop()
        if (module, name) in seen:
            continue
        seen.add((module, name))
        names = _names_of(module)
        if name in names.uses:
            reached.add(module)
            left += [(module, used) for used in names.uses[name]]
        elif name in names.imports:
            left.append(names.imports[name])
    return reached


@cache
def _names_of(module: str) -> _Names:
    tree = ast.parse(_ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))
    names = _Names({}, {})
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ("hooks", "policy"):
            names.imports.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.uses[statement.name] = _used_in(statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in (each for whole in targets for each in ast.walk(whole) if isinstance(each, ast.Name)):
                names.uses.setdefault(target.id, set()).update(_used_in(statement))
    return names


def _used_in(definition: ast.AST) -> set[str]:
    annotations = {
        id(each)
        for node in ast.walk(definition)
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(annotation, ast.AST)
        for each in ast.walk(annotation)
    }
    return {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and id(node) not in annotations}
