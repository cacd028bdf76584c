"""Checks the hooks in the server, the last passes, and settings that contradict each other, the server or the host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hooks.deploy.hook_names import HOOKS
from hooks.deploy.settings_and_partition.settings_choice import choose
from policy.settings.site_settings import Settings
from tui.cli.doctor.finding import AS_ROOT, Finding, invalid_setting, ok, show_first, unseen, warn, wrong
from tui.cli.doctor.observe_host_and_server import Observed

_SHOWN = 3
_COMMAND_FAILED = "the command for alerts failed"
_FAILURES = "pbsteer hooks status shows those of the last pass, the console (key 7, ←) those before"
_APPLY = "pbsteer hooks plan, then pbsteer hooks apply"


def check_hooks(observed: Observed) -> Iterator[Finding]:
    """What ``pbsteer hooks status`` finds."""
    health = observed.health
    if health is None:
        if observed.server_status is not None and "hooks" in observed.unseen:
            yield unseen("hooks", observed.unseen["hooks"])
        return
    for problem in health.problems:
        # What the command printed may be anything.
        shared = _COMMAND_FAILED if problem.startswith(_COMMAND_FAILED) else None
        yield wrong("hooks", problem, health.remedies.get(problem, ""))._replace(shared=shared)
    for hint in health.hints:
        yield warn("hooks", hint)
    if not health.problems:
        yield ok("hooks", f"all {len(HOOKS)} are enabled, as this version has them, and every MoM has its copies")


def check_passes(observed: Observed, where: str = _FAILURES) -> Iterator[Finding]:
    """How long the last passes took, and what failed in them; ``where`` says where that is shown."""
    if "passes" in observed.unseen:
        yield unseen("passes", observed.unseen["passes"])
    passes = observed.passes
    if not passes:
        return
    budget_s = (observed.applied or Settings()).schedule.budget_s
    longest_s = max(_seconds(entry) for entry in passes)
    failed = sum(bool(entry.get("failures")) for entry in passes)
    text = f"of the last {len(passes)} the longest took {longest_s:.2f} s of {budget_s:g} s"
    if failed:
        yield warn("passes", f"in {failed} of the last {len(passes)} requests to the server failed", where)
    if longest_s > budget_s:
        remedy = "give passes more time (schedule.budget_s), or look at what keeps the server busy"
        yield warn("passes", text, remedy)
    elif not failed:
        yield ok("passes", f"{text}, and nothing failed in them")


def _seconds(entry: Mapping[str, Any]) -> float:
    found = entry.get("seconds")
    return sum(float(value) for value in found.values()) if isinstance(found, Mapping) else 0.0


def check_settings(observed: Observed) -> Iterator[Finding]:
    """Settings that contradict each other, the server or the host, and a file that has not been applied."""
    found = [invalid_setting(problem, observed.policy) for problem in observed.site_problems]
    if "settings" in observed.unseen:
        found.append(unseen("settings", observed.unseen["settings"], AS_ROOT))
    if observed.unfit:
        found.append(wrong("settings", observed.unfit, f"change quota.counted, then {_APPLY}"))
    for text in observed.missing:
        remedy = f"mend it, or change the key and {_APPLY}"
        found.append(warn("settings", text, remedy)._replace(shared=text.partition(" = ")[0].partition(": ")[0]))
    for queue, reason in sorted(observed.obstacles.items()):
        mode = observed.modes()[queue]
        effect = "is not driven" if mode == "drive" else "gets no jobs preempted for"
        text = f"queue {queue} is in {mode} and {effect}: {reason}"
        found.append(wrong("settings", text, f"change that, or pbsteer do mode {queue} observe --yes"))
    installed, site = observed.installed, observed.site_settings
    if installed is not None and site is not None and observed.applied is not None:
        changes = choose(installed, site, str(observed.policy)).changes
        if changes:
            keys = show_first([change.key for change in changes], _SHOWN)
            text = f"{observed.policy} has other values than the hooks run with: {keys}"
            found.append(warn("settings", text, _APPLY))
    if not found and observed.applied is not None:
        found.append(ok("settings", "no two contradict each other, the server or this host"))
    elif not found and site is not None:
        found.append(ok("settings", f"{observed.policy} is valid; the settings that the hooks have were not seen"))
    yield from found
