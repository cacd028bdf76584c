"""Builds one readable file per hook: the entry and all modules of ours that it imports, as source, always the same
bytes.

PBS runs a hook as one text, without a file name or an importable package of ours. The bundled modules are loaded under
names that hold the hash of all sources, since the server keeps modules between events and an update must not meet old
ones.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

EVENTS = (
    "queuejob", "modifyjob", "movejob", "resvsub", "modifyresv", "runjob", "periodic", "exechost_periodic",
    "execjob_epilogue", "management",
)  # fmt: skip
ON_DEMAND = ("execjob_launch",)
"""The hooks that a server has only where the settings need them."""
PREFIX = "pbsteer_"
LOAD = "pbsteer_load"
"""The name under which a bundle gives an entry the function that loads another module. PBS empties that function's
namespace when the event is over, so no module that stays loaded after the event may have it."""
_ENTRIES = "hooks.entries."
_PRINTABLE = "policy.model.printable_text"
"""The bundle's own need, for messages on refusals and failures."""
_COMPILED = "hooks.store.compiled_modules"
_OF_ONE_EVENT = ("periodic",)
"""The hooks with many modules and a process for each event: they load their modules compiled (:data:`_COMPILED`)."""
VERSION = "0.2.0"

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("policy", "hooks")
_QUOTE = "'''"


class BundleError(Exception):
    """A source that cannot be embedded; the message names the file, the line and the reason."""


class _Source(NamedTuple):
    """A module's text with its own imports renamed; the modules of ours that have to be loaded before it, and those
    that its functions import."""

    text: str
    needs: tuple[str, ...]
    later: tuple[str, ...]


def build(event: str) -> str:
    """The hook file for an event of :data:`EVENTS` or :data:`ON_DEMAND`. Raises :class:`BundleError`."""
    if event not in (*EVENTS, *ON_DEMAND):
        raise BundleError(f"no hook for event {event!r}; there is {', '.join((*EVENTS, *ON_DEMAND))}")
    entry = f"{_ENTRIES}{event}"
    modules: dict[str, _Source] = {}
    stored = [_COMPILED] if event in _OF_ONE_EVENT else []
    for module in (entry, _PRINTABLE, *stored):
        _collect(module, modules, ())
    digest = source_digest()
    embedded = "\n".join(
        f"_NEEDS[{name!r}] = {source.needs!r}\n_SOURCES[{name!r}] = r{_QUOTE}{source.text}{_QUOTE}\n"
        for name, source in modules.items()
    )
    return _FRAME.format(
        event=event,
        version=VERSION,
        digest=digest,
        modules="".join(f"#   {name}\n" for name in modules),
        package=PREFIX + digest,
        prefix=PREFIX,
        sources=embedded,
        entry=entry,
        load=LOAD,
        printable=_PRINTABLE,
        compiled=_COMPILED,
        begin=(_FROM_DISK if stored else _LOAD_ENTRY).format(entry=entry),
    )


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Twelve hex digits of the SHA-256 of all sources that any of the hooks may hold."""
    everything = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            everything.update(path.relative_to(_ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return everything.hexdigest()[:12]


def digest_of(bundle: str) -> str:
    """The hash in a bundle's header; empty for a text that is no bundle."""
    return _read_header(bundle, "# hash: ")


def version_of(bundle: str) -> str:
    """The version in a bundle's header; empty for a text that is no bundle."""
    return _read_header(bundle, "# version: ")


def _read_header(bundle: str, key: str) -> str:
    return next((line[len(key) :].strip() for line in bundle.splitlines()[:10] if line.startswith(key)), "")


def _collect(module: str, found: dict[str, _Source], above: tuple[str, ...]) -> None:
    """Add a module after all that it imports. A circle of imports has no such order and is refused."""
    if module in above:
        raise BundleError(f"modules import each other in a circle: {' -> '.join([*above, module])}")
    if module not in found:
        source = _read_source(module)
        for needed in (*source.needs, *source.later):
            _collect(needed, found, (*above, module))
        found[module] = source


@cache
def _read_source(module: str) -> _Source:
    path = _ROOT.joinpath(*module.split(".")).with_suffix(".py")
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise BundleError(f"{module}: {path}: {error.strerror}") from error
    if _QUOTE in text or "\r" in text or "\0" in text or not text.endswith("\n"):
        raise BundleError(f"{path}: has {_QUOTE}, a carriage return or a NUL, or no newline at its end")
    lines = text.splitlines(keepends=True)
    tree = ast.parse(text)
    needs: list[str] = []
    later: list[str] = []
    for node in _find_imports(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module or ""):
            target = str(node.module)
            if _ROOT.joinpath(*target.split(".")).is_dir():
                raise BundleError(f"{path}:{node.lineno}: imports from the package {target}; name the module instead")
            in_function = node not in tree.body
            if in_function and not module.startswith(_ENTRIES):
                raise BundleError(f"{path}:{node.lineno}: imports {target} within a function; only an entry may")
            (later if in_function else needs).append(target)
            loading = f'{LOAD}("{target}"); ' if in_function else ""
            line = lines[node.lineno - 1]
            renamed = f"{loading}from {PREFIX}{source_digest()}.{target} "
            lines[node.lineno - 1] = line.replace(f"from {target} ", renamed, 1)
            if lines[node.lineno - 1] == line:
                raise BundleError(
                    f"{path}:{node.lineno}: {line.strip()!r}; write 'from {target} import ...' with single blanks"
                )
        elif isinstance(node, ast.ImportFrom) and node.level:
            raise BundleError(f"{path}:{node.lineno}: a relative import; write the module's full name")
        elif isinstance(node, ast.Import) and any(_is_ours(alias.name) for alias in node.names):
            raise BundleError(f"{path}:{node.lineno}: 'import {node.names[0].name}'; write 'from ... import ...'")
    return _Source("".join(lines), tuple(dict.fromkeys(needs)), tuple(dict.fromkeys(later)))


def _find_imports(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    """The imports that are executed, at any depth: not those for the type checker."""
    found: list[ast.Import | ast.ImportFrom] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append(node)
        found += _find_imports(node)
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _PACKAGES


_LOAD_ENTRY = """\
    entry = _load("{entry}")
"""
# All that is loaded stays until the process ends. To look for garbage in it, and in what the server had before it
# forked, would take time and copy the server's memory.
_FROM_DISK = """\
    import gc

    gc.disable()
    try:
        _take_compiled()
        entry = _load("{entry}")
        gc.freeze()
    finally:
        gc.enable()
"""

_FRAME = '''\
# pbsteer: the {event} hook. Generated from pbsteer's sources: change those, then "pbsteer hooks apply".
# version: {version}
# hash: {digest}
# Below are the modules, each as it is in pbsteer's folders; the part that runs is at the end of the file.
# Each is loaded once per interpreter, when it is needed, after all that it needs:
{modules}
_PACKAGE = "{package}"
_SOURCES = {{}}
_NEEDS = {{}}
_CODES = {{}}

{sources}

def _load(module):
    """A module, loaded after all that it needs."""
    import sys

    name = _PACKAGE + "." + module
    if name in sys.modules:
        return sys.modules[name]
    import types

    for needed in _NEEDS[module]:
        _load(needed)
    loaded = sys.modules[name] = types.ModuleType(name)
    try:
        exec(_CODES.get(module) or _compile(module), loaded.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return loaded


def _shown(module):
    """The file name that a traceback shows."""
    return "<pbsteer {digest}: " + module.replace(".", "/") + ".py>"


def _show_sources():
    """Have a traceback show the lines of the modules: only then, as linecache takes longer to load than some hooks."""
    try:
        import linecache

        for module, source in _SOURCES.items():
            linecache.cache[_shown(module)] = (len(source), None, source.splitlines(True), _shown(module))
    except Exception:
        # The traceback is shown without them.
        return


def _compile(module):
    return compile(_SOURCES[module], _shown(module), "exec")


def _take_compiled():
    """Take all modules compiled by an earlier process; compile them for the next one if that cannot be done."""
    try:
        import pbs

        stored = _load("{compiled}")
        home = pbs.pbs_conf["PBS_HOME"]
        _CODES.update(stored.read_compiled(home, _SOURCES))
        if _CODES.keys() != _SOURCES.keys():
            _CODES.update((module, _compile(module)) for module in _SOURCES)
            stored.write_compiled(home, _SOURCES, _CODES)
    except Exception:
        # No folder yet, or no space: the next process tries again. Whatever else it is, no pass fails for it.
        return


def _load_entry():
    """The entry's module; the modules of other versions are dropped before it is loaded."""
    import sys

    if _PACKAGE + ".{entry}" not in sys.modules:
        for stale in [name for name in sys.modules if name.startswith("{prefix}")]:
            if not stale.startswith(_PACKAGE + "."):
                del sys.modules[stale]
{begin}    entry.{load} = _load
    return entry


def _handle(pbs):
    """What the entry says: None, or the sentence to refuse the request with. An error of ours never refuses one, and
    neither does PBS's alarm, which comes as KeyboardInterrupt."""
    try:
        return _load_entry().handle(pbs)
    except (Exception, KeyboardInterrupt):
        import traceback

        _show_sources()
        error = _printable(traceback.format_exc(), "printable_lines")
        whose = _printable(_whose(pbs))
        pbs.logmsg(pbs.LOG_ERROR, "pbsteer: the {event} hook failed and lets PBS go on" + whose + ": " + error)
        return None


def _whose(pbs):
    """Whose request went on without being judged, and of which job; empty for an event that is no request."""
    try:
        event = pbs.event()
        if "{event}" not in ("queuejob", "modifyjob", "movejob", "runjob"):
            return ""
        job = getattr(event.job, "id", None)
        of_job = ", job " + str(job) if job else ""
        return " (a request of " + str(event.requestor) + "@" + str(event.requestor_host) + of_job + ")"
    except Exception:
        return ""


def _printable(text, form="printable"):
    """The text as others may read it, whatever users have put into it."""
    try:
        return getattr(_load("{printable}"), form)(text)
    except Exception:
        return ascii(text)


import pbs

_refusal = _handle(pbs)
if _refusal:
    pbs.event().reject(_printable("pbsteer: " + _refusal))
else:
    pbs.event().accept()
'''
