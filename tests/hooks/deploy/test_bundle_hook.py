"""The bundles as text: the same bytes each time, readable, and with no more in them than the hook needs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hooks.deploy import bundle_hook
from hooks.deploy.bundle_hook import EVENTS, BundleError, build, digest_of, source_digest
from tests.hooks.modules_used_by_bundled_hook import modules_of, reached_modules

ROOT = Path(bundle_hook.__file__).parents[2]


@pytest.mark.parametrize("event", EVENTS)
def test_a_bundle_is_the_same_byte_for_byte_in_another_process(event: str) -> None:
    code = f"import sys; from hooks.deploy.bundle_hook import build; sys.stdout.buffer.write(build({event!r}).encode())"
    for seed in ("0", "1"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        assert done.stdout.decode() == build(event)


@pytest.mark.parametrize("event", EVENTS)
def test_every_module_is_there_as_it_is_but_for_the_names_in_its_imports(event: str) -> None:
    text = build(event)
    for module in modules_of(text):
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        source = path.read_text()
        embedded = text.split(f"_SOURCES[{module!r}] = r'''", 1)[1].split("'''", 1)[0]
        unloaded = re.sub(rf'{bundle_hook.LOAD}\("[a-z_.]+"\); ', "", embedded)
        assert unloaded.replace(f"{bundle_hook.PREFIX}{source_digest()}.", "") == source


@pytest.mark.parametrize("event", EVENTS)
def test_a_module_comes_after_all_that_it_imports(event: str) -> None:
    seen: set[str] = set()
    for module in modules_of(build(event)):
        source = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text()
        body = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
        needed = {node.module for node in body if node.module and node.module.split(".")[0] in ("hooks", "policy")}
        assert needed <= seen
        seen.add(module)


def test_the_hooks_that_hold_up_the_server_carry_no_engine() -> None:
    for event in ("queuejob", "runjob"):
        assert not {"policy.cycle.engine", "hooks.pbs.client.pbs_ifl_client", "hooks.translate.snapshot"} & set(
            modules_of(build(event))
        )
    assert "policy.cycle.engine" in modules_of(build("periodic"))


@pytest.mark.parametrize("event", ["execjob_epilogue", "exechost_periodic", "execjob_launch"])
def test_the_hooks_that_run_on_hosts_are_small(event: str) -> None:
    # One process at the end of each job, and one each minute, on every host.
    modules = set(modules_of(build(event)))
    assert len(modules) <= {"execjob_epilogue": 21, "exechost_periodic": 13, "execjob_launch": 10}[event]
    folders = {module.rpartition(".")[0] for module in modules}
    rooms = {
        "hooks.checkpoint", "hooks.checkpoint.on_job_host", "hooks.checkpoint.save_method", "hooks.entries",
        "hooks.pbs", "hooks.pbs.client", "hooks.pbs.job_attributes", "hooks.placement", "hooks.store",
        "hooks.telemetry", "policy.model",
    }  # fmt: skip
    assert folders <= rooms
    of_passes = {"store.hook_settings", "pbs.host_of_vnode_and_multi_host_job"}
    assert not {f"hooks.{name}" for name in of_passes} & modules


@pytest.mark.parametrize("event", sorted(set(EVENTS) - {"periodic"}))
def test_a_bundle_has_no_module_that_its_hook_never_uses(event: str) -> None:
    # The attribute names and types of a server status and the names of resources are everywhere, and small.
    small = {"hooks.pbs.server_status_type_and_attributes", "hooks.pbs.custom_resources_on_hosts"}
    assert set(modules_of(build(event))) - reached_modules(event) <= small


@pytest.mark.parametrize("event", EVENTS)
def test_one_place_accepts_or_rejects(event: str) -> None:
    calls = [node for node in ast.walk(ast.parse(build(event))) if isinstance(node, ast.Attribute)]
    verdicts = sorted(node.attr for node in calls if node.attr in ("accept", "reject"))
    assert verdicts == ["accept", "reject"]


def test_the_header_says_what_it_is() -> None:
    head = build("runjob").splitlines()[:4]
    assert "runjob hook" in head[0]
    assert digest_of("\n".join(head)) == source_digest()
    assert digest_of("import pbs\n") == ""


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = '''y'''\n", "'''"),
        ("x = 1", "no newline"),
        ("x = 1\r\n", "carriage return"),
        ("from policy import decide\n", "imports from the package policy"),
        ("import policy.model.pbs_units\n", "import policy.model.pbs_units"),
        ("from . import config\n", "relative"),
        ("from policy.model.pbs_units\timport parse_amount\n", "single blanks"),
        ("from hooks.entries.bad import x\n", "circle"),
        ("from hooks.nosuch import x\n", "hooks.nosuch"),
        ("from hooks.lazy import x\n", "within a function"),
    ],
)
def test_a_source_that_cannot_be_embedded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
) -> None:
    (tmp_path / "hooks" / "entries").mkdir(parents=True)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "units.py").write_text("\n")
    (tmp_path / "hooks" / "lazy.py").write_text("def f():\n    from policy.model.pbs_units import x\n")
    (tmp_path / "hooks" / "entries" / "bad.py").write_bytes(source.encode())
    monkeypatch.setattr(bundle_hook, "_ROOT", tmp_path)
    monkeypatch.setattr(bundle_hook, "EVENTS", ("bad",))
    for cache in (bundle_hook.source_digest, bundle_hook._read_source):
        cache.cache_clear()
    try:
        with pytest.raises(BundleError, match=words):
            build("bad")
    finally:
        for cache in (bundle_hook.source_digest, bundle_hook._read_source):
            cache.cache_clear()


def test_an_event_without_a_hook_is_refused() -> None:
    with pytest.raises(BundleError, match="postqueuejob"):
        build("postqueuejob")
