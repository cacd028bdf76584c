"""What a submission costs more with pbsteer's queuejob hook than with a hook that does nothing, in alternation.

Both hooks are in the server; by turns one of the two is enabled for a block of submissions, so that whatever else the
machine does, and whatever the growing number of jobs costs, falls on both alike.
"""

from __future__ import annotations

from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.settings_of_server_and_passes import ScheduleSettings, ServerSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, Settings
from tests.bench_pbs.benchmark_result import Figure, median, percentile
from tests.bench_pbs.testbed import calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy
from tests.pbs.cluster import PbsCluster

BLOCK = 250
_NOOP = "bench_noop"
_PLAIN = "import pbs\npbs.event().accept()\n"
_SHRINK_AND_STRIPE = Settings(
    backfill=BackfillSettings(kind="checkpoint", shrink_factor=0.2, shrink_threshold_s=600),
    checkpoint=CheckpointSettings(saves=True),
    stripe=StripeSettings(layout="stripe", width_factor=2),
    schedule=ScheduleSettings(interval_s=2, budget_s=1.5),
    server=ServerSettings(mode="advise"),
)


def measure(submissions: int = 5000) -> list[Figure]:
    """``submissions`` with each hook."""
    with open_site() as pbs, without_hooks(pbs):
        return _measure(pbs, submissions)


def _measure(pbs: PbsCluster, submissions: int) -> list[Figure]:
    # Nothing may start: what is measured is the submission alone.
    pbs.qmgr("set server scheduling = False", "set queue workq started = False")
    deploy(pbs, _SHRINK_AND_STRIPE)
    # The passes have told the modes by now; from here on they would only add noise to both.
    pbs.qmgr("set hook pbsteer_periodic enabled = False")
    path = pbs.testbed.folder / "noop.py"
    path.write_text(_PLAIN)
    pbs.qmgr(f"create hook {_NOOP} event=queuejob", f"import hook {_NOOP} application/x-python default {path}")
    seconds: dict[str, list[float]] = {_NOOP: [], "pbsteer_queuejob": []}
    attributes = job_attributes("2:ncpus=4:mpiprocs=4:mem=8gb", "02:00:00")
    estimates = set()
    with calling(pbs, "alice") as caller:
        for _ in range(max(1, submissions // BLOCK)):
            for hook in seconds:
                for other in seconds:
                    pbs.qmgr(f"set hook {other} enabled = {other == hook}")
                answer = caller.ask("submit", attributes=attributes, count=BLOCK, script=script(pbs, 1), queue="workq")
                seconds[hook] += answer["seconds"]
                estimates.add((hook, "soft_walltime" in pbs.job(answer["ids"][-1])["Resource_List"]))
    if estimates != {(_NOOP, False), ("pbsteer_queuejob", True)}:
        raise RuntimeError(f"the hooks did not do what they are measured for: {sorted(estimates)}")
    noop, ours = seconds[_NOOP], seconds["pbsteer_queuejob"]
    count = f"{len(noop):,} submissions each"
    return [
        Figure("a submission, hook that does nothing: median", median(noop) * 1000, "ms", note=count),
        Figure("a submission, pbsteer_queuejob: median", median(ours) * 1000, "ms", note=count),
        Figure("pbsteer_queuejob more: median less median", (median(ours) - median(noop)) * 1000, "ms", 0.3),
        Figure(
            "pbsteer_queuejob more: 95th percentile less the other's",
            (percentile(ours, 95) - percentile(noop, 95)) * 1000,
            "ms",
        ),
    ]
