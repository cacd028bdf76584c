"""Every path of the project that README.md, docs/developing.md and the packages' READMEs name is there, and whatever of
ours a docstring refers to."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = dict.fromkeys((ROOT / "README.md", ROOT / "docs" / "developing.md"), ROOT)
FOLDERS = ("policy", "hooks", "migration", "sim", "torque", "tui", "container")
PACKAGES = {
    page: page.parent for folder in FOLDERS if (ROOT / folder).is_dir() for page in (ROOT / folder).rglob("README.md")
}
_SPAN = re.compile(r"`([\w.][\w./-]*(?:/|\.py)|[\w.-]+/[\w./-]+\.(?:md|toml|sh))`")
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ELSEWHERE = ("PBS_HOME/",)
_REFERENCE = re.compile(rf":(?:mod|data|func|class|meth|attr|exc):`~?((?:{'|'.join(FOLDERS)})(?:\.\w+)*)`")


def paths(page: Path) -> list[str]:
    """What looks like a path of the project: it ends with a slash or as a source file's name does."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [path for path in dict.fromkeys(_SPAN.findall(text)) if not path.startswith(_ELSEWHERE)]


def folders(page: Path) -> list[str]:
    """Folders that are named without a slash at their end: ``tests/golden``."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    tops = "|".join((*FOLDERS, "tests", "docs", "examples"))
    return list(dict.fromkeys(re.findall(rf"`((?:{tops})(?:/\w+)+)`", text)))


def places(page: Path, root: Path, path: str) -> list[Path]:
    """Where a page's path may be: below the page's folder or the project's; a bare file name also in a folder that the
    page names."""
    named = [folder for folder in paths(page) if folder.endswith("/")] if "/" not in path else []
    return [root / path, ROOT / path, *(ROOT / folder / path for folder in named)]


NAMED = [
    pytest.param(places(page, root, path), id=f"{page.relative_to(ROOT)}:{path}")
    for page, root in {**PAGES, **PACKAGES}.items()
    for path in (*paths(page), *folders(page))
]


@pytest.mark.parametrize("at", NAMED)
def test_a_path_that_a_page_names_is_there(at: list[Path]) -> None:
    assert any(path.exists() for path in at)


def test_the_pages_name_many() -> None:
    assert len(NAMED) > 60


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS[:5] if (ROOT / folder).is_dir()])
def test_a_folders_readme_lists_each_of_its_packages(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in sorted((ROOT / folder).glob("*/__init__.py"))]
    assert [name for name in packages if f"`{name}`" not in text] == []


def references() -> Iterator[tuple[str, str]]:
    """Each file of the product, with a dotted name of ours that a docstring in it refers to."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                    for name in _REFERENCE.findall(str(node.value.value)):
                        yield f"{file.relative_to(ROOT)}:{node.lineno}", name


def is_there(name: str) -> bool:
    """Whether this is a module, or what one has; fields of classes without a default count too."""
    try:
        pkgutil.resolve_name(name)
    except ImportError:
        return False
    except AttributeError:
        owner, _, field = name.rpartition(".")
        try:
            return field in getattr(pkgutil.resolve_name(owner), "__annotations__", {})
        except (ImportError, AttributeError):
            return False
    return True


def test_what_docstrings_refer_to_is_there() -> None:
    named = list(references())
    assert len(named) > 100
    known = {name: is_there(name) for name in dict.fromkeys(name for _, name in named)}
    assert [(place, name) for place, name in named if not known[name]] == []


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("policy.cycle.engine", True),
        ("policy.cycle.engine.decide", True),
        ("policy.Reason.sentence", True),
        ("policy.Reason.code", True),
        ("policy.cycle.no_such_module", False),
        ("policy.cycle.engine.no_such_function", False),
        ("policy.Reason.no_such_method", False),
        ("policy.NoSuchClass.sentence", False),
    ],
)
def test_a_name_is_there_if_a_module_has_it(name: str, there: bool) -> None:
    assert is_there(name) is there
