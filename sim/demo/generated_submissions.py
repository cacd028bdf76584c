"""The users of the demo cluster and their endless submissions.

Sizes, run times and the daily cycle are those of the Lublin-Feitelson model (`sim.workload.lublin_feitelson`),
estimates those of `sim.workload.user_shares_and_estimates`; names, arrays, holds and start times imitate a site's. The
shorter the queue, the faster jobs arrive, so that it neither runs empty nor grows without end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from sim.pbs_server.objects.attributes import show_hours
from sim.pbs_server.objects.moms import Use
from sim.workload.lublin_feitelson import draw_run_s, draw_size
from sim.workload.user_shares_and_estimates import User

CORES_PER_VNODE = 32
GPUS_PER_VNODE = 4
CORES_PER_GPU = CORES_PER_VNODE // GPUS_PER_VNODE
MEMORY_PER_CORE_GB = 4


class Person(NamedTuple):
    """A user: name, group, share of the submissions and quota in thousandths of the cluster, by queue, and job
    names.
    """

    name: str
    group: str
    activity: int
    quota: int
    gpu_activity: int
    gpu_quota: int
    jobs: Sequence[str]


PEOPLE = (
    Person("carol", "phys", 300, 120, 0, 0, ("lattice_qcd", "hmc_beta61", "propagator", "wilson_flow")),
    Person("alice", "chem", 170, 220, 80, 150, ("gmx_membrane", "md_npt_300K", "umbrella_w", "equil-2")),
    Person("bob", "bio", 140, 120, 0, 0, ("blastp_nr", "bwa.sample", "iqtree_boot", "STAR_align")),
    Person("dave", "eng", 90, 200, 60, 100, ("cfd_wing", "mesh_refine", "foil-naca0012", "post")),
    Person("erin", "chem", 90, 60, 0, 0, ("g16_opt", "freq", "orca_sp", "neb_path")),
    Person("frank", "phys", 70, 60, 0, 0, ("nbody_z0", "halo_find", "ic_gen")),
    Person("grace", "ml", 30, 30, 420, 200, ("train_unet", "finetune-7b", "eval", "hp_search")),
    Person("heidi", "ml", 20, 30, 320, 350, ("diffusion_v3", "preproc", "train.vit")),
    Person("ivan", "bio", 50, 60, 120, 150, ("alphafold", "msa", "relax")),
    Person("judy", "eng", 40, 40, 0, 0, ("abaqus_crash", "LS-DYNA", "topopt")),
)
PREFERENCES: Mapping[str, Mapping[str, str]] = {
    "erin": {"Resource_List.pbsteer_rank": "memory", "Resource_List.pbsteer_min_mem": "8gb"},
    "frank": {"Resource_List.pbsteer_rank": "stability"},
}
"""Users' requests for ranked vnodes (docs/policies.md, P4): free memory, or a cool vnode."""

OTHERS_QUOTA = 20
"""The generic quota, also in thousandths."""

_ESTIMATES_S = tuple(3600 * hours for hours in (1, 2, 4, 8, 12, 24))
_LONGEST_RUN_S = 16 * 3600
_LARGEST_SHARE = 8
_LARGEST_CORES = 512
"""No job is larger than this fraction of its queue's cores, nor than this many cores."""

_IDLE, _SLOW = 0.02, 0.12
"""The shares of jobs that hardly use their cores, and, with these, of those that use half of them."""

_GAP_VNODE_S = 2000.0
"""Mean seconds between two submissions if there were one vnode: enough to keep it busy."""


class Submission(NamedTuple):
    """One `qsub`: user, group, attributes, true run time, exit status, seconds until a held job is released (else
    0), and how much of its cores and memory it uses.
    """

    user: str
    group: str
    attributes: Mapping[str, str]
    run_s: float
    exit_status: int
    held_s: float
    use: Use


class Load:
    """Draws one submission after the other, the same ones for the same seed."""

    def __init__(self, seed: int, cores: int, gpu_cores: int) -> None:
        self._random = Random(f"{seed} demo")  # noqa: S311 - no secret depends on it
        self._use = Random(f"{seed} use")  # noqa: S311 - apart, so that what is submitted does not depend on it
        self._cores = cores
        self._gpu_cores = gpu_cores

    def draw(self, queue: str, now_s: float) -> Submission:
        """The next submission to this queue."""
        random = self._random
        gpu = queue == "gpu"
        weights = [person.gpu_activity if gpu else person.activity for person in PEOPLE]
        person = random.choices(PEOPLE, weights)[0]
        array = random.random() < 0.06
        select, cores = self._draw_gpus() if gpu else self._draw_cores(array)
        run_s = min(draw_run_s(random, cores) * (1 if array else 2) + random.randint(60, 600), _LONGEST_RUN_S)
        attributes = {
            "queue": queue,
            "Job_Name": random.choice(person.jobs) + (f"_{random.randint(1, 99)}" if random.random() < 0.5 else ""),
            "Resource_List.select": select,
            "Resource_List.place": "scatter" if "+" not in select and select.startswith("2:") else "free",
        }
        attributes.update(PREFERENCES.get(person.name, {}))
        if random.random() > 0.03:
            estimate_s = User(person.name, person.group, (*_ESTIMATES_S, 48 * 3600)).estimate_s(random, run_s)
            attributes["Resource_List.walltime"] = show_hours(estimate_s)
        if random.random() < 0.04:
            attributes["Rerunable"] = "False"
        if array:
            attributes["array_indices_submitted"] = f"1-{random.choice((8, 12, 20, 40))}"
        held_s = 0.0
        odd = random.random()
        if odd < 0.02:
            attributes["Hold_Types"] = "u"
            held_s = random.uniform(3600, 6 * 3600)
        elif odd < 0.04:
            attributes["Execution_Time"] = str(int(now_s + random.uniform(1800, 4 * 3600)))
        return Submission(
            person.name, person.group, attributes, run_s, int(random.random() < 0.05), held_s, self._draw_use(cores)
        )

    def draw_gap_s(self, cores: int, waiting: float) -> float:
        """Seconds until the next submission to a queue with this many cores, when `waiting` times its cores are
        requested by waiting jobs.
        """
        return self._random.expovariate(1.0) * _GAP_VNODE_S * CORES_PER_VNODE / cores * min(4.0, 0.3 + 2 * waiting**2)

    def _draw_use(self, cores: int) -> Use:
        """Most jobs keep their cores busy; some wait for their disks, and a few small ones hardly do anything."""
        random = self._use
        kind = random.random()
        low, high = (4, 20) if kind < _IDLE and cores < CORES_PER_VNODE else (35, 70) if kind < _SLOW else (82, 99)
        return Use(random.randint(low, high), random.randint(15, 95))

    def _draw_cores(self, array: bool) -> tuple[str, int]:
        cores = draw_size(self._random, 8 if array else max(1, min(self._cores // _LARGEST_SHARE, _LARGEST_CORES)))
        if cores <= CORES_PER_VNODE:
            return f"1:ncpus={cores}:mem={cores * MEMORY_PER_CORE_GB}gb", cores
        chunks = -(-cores // CORES_PER_VNODE)
        memory = CORES_PER_VNODE * MEMORY_PER_CORE_GB
        return f"{chunks}:ncpus={CORES_PER_VNODE}:mpiprocs={CORES_PER_VNODE}:mem={memory}gb", chunks * CORES_PER_VNODE

    def _draw_gpus(self) -> tuple[str, int]:
        gpus = self._random.choice((1, 1, 1, 2, 2, 4))
        chunks = self._random.choice((1, 1, 1, 2)) if gpus == GPUS_PER_VNODE else 1
        cores = gpus * CORES_PER_GPU
        memory = cores * MEMORY_PER_CORE_GB
        return f"{chunks}:ncpus={cores}:ngpus={gpus}:mem={memory}gb", chunks * cores
