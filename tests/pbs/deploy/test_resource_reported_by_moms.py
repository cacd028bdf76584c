"""PBS creates a deleted resource again where a MoM reports a value of it: while the hooks are applied, and while they
are removed. A test cannot choose the moment at which a MoM reports, so it creates the resource itself."""

from __future__ import annotations

from typing import Callable

from tests.hooks.deploy_on_testbed import deploy, make_deployment, quick_settings
from tests.pbs.cluster import PbsCluster

READING = "pbsteer_reading"


def has_reading(pbs: PbsCluster) -> bool:
    return f"Resource {READING}\n" in pbs.qmgr("list resource")


def report_at(pbs: PbsCluster, words: str) -> Callable[[str], None]:
    """Report a value just before the first step with these words."""
    left = [words]

    def say(line: str) -> None:
        if left and left[0] in line:
            left.clear()
            pbs.qmgr(
                f"create resource {READING} type=string",
                f"set node {pbs.mom_names[0]} resources_available.{READING} = old",
            )

    return say


def test_a_resource_reported_during_an_apply_gets_its_flags_and_goes_with_the_others(pbs: PbsCluster) -> None:
    deployment = make_deployment(pbs)
    deployment.apply(quick_settings(), report_at(pbs, f"create resource {READING}"))
    assert "flag = r" in pbs.qmgr(f"list resource {READING}")
    assert deployment.plan_apply(quick_settings()) == []
    assert deployment.remove(lambda _: None).left == []
    assert not has_reading(pbs)


def test_a_resource_reported_after_its_deletion_is_deleted_again(pbs: PbsCluster) -> None:
    deployment = deploy(pbs, quick_settings())
    removed = deployment.remove(report_at(pbs, "server_priv/hooks/tmp"))
    assert removed.left == []
    assert [step.line for step in removed.steps].count(f"delete resource {READING}") == 2
    assert not has_reading(pbs)
