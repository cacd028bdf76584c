"""A simulated job: its attributes as PBS keeps them from submission on, and what only the simulation knows of it.

A job's attributes are replaced, never modified, so that a mapping handed out earlier does not change. A job array is
one job with its waiting indices; a subjob becomes its own job when it starts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hooks.pbs.job_attributes import job_ids_and_states
from policy.model.allocation import Allocation
from policy.model.job_request import Request, RequestError, parse_request
from policy.model.pbs_units import parse_amount
from sim.pbs_server.objects.attributes import JOB, Resources, check_value, find_attribute, split_key
from sim.pbs_server.objects.errors import BAD_VALUE, UNDEFINED_ATTRIBUTE, UNKNOWN_RESOURCE, PbsError
from sim.pbs_server.objects.moms import USUAL, Use
from sim.pbs_server.objects.vnodes import show_amount

NO_PROJECT = "_pbs_project_default"
_RANGE = re.compile(r"[0-9]+-[0-9]+(:[0-9]+)?")

_ONLY_OF_ARRAYS = (
    "array", "array_state_count", "array_indices_submitted", "array_indices_remaining", "project", "Submit_Host",
    "estimated",
)  # fmt: skip
QSUB_DEFAULTS = {
    "Job_Name": "STDIN", "Checkpoint": "u", "Join_Path": "n", "Keep_Files": "n", "Mail_Points": "a", "Priority": "0",
    "Rerunable": "True",
}  # fmt: skip
"""What qsub itself puts into a request, so that hooks see it."""

_SERVER_DEFAULTS = {"Hold_Types": "n", "project": NO_PROJECT}


@dataclass
class SimJob:
    """One job, array or subjob. `run_s` is its true run time in seconds, `exit_status` its exit status after that.

    `allocation` and `exclusive` describe what it holds while it runs. For an array, `waiting` has the indices that have
    not started and `subjobs` those that have; a subjob has its array as `parent`.
    """

    id: str
    texts: dict[str, str]
    run_s: float
    exit_status: int = 0
    allocation: Allocation | None = None
    exclusive: bool = False
    parent: SimJob | None = None
    index: int = 0
    indices: tuple[int, ...] = ()
    waiting: list[int] = field(default_factory=list)
    subjobs: dict[int, SimJob] = field(default_factory=dict)
    use: Use = USUAL

    @property
    def state(self) -> str:
        """PBS's letter for the state."""
        return self.texts["job_state"]

    @property
    def step(self) -> int:
        """The step between indices of an array."""
        return self.indices[1] - self.indices[0] if len(self.indices) > 1 else 1

    @property
    def is_array(self) -> bool:
        """Whether this is a job array rather than a job or subjob."""
        return bool(self.indices)

    def set(self, changes: Mapping[str, str], without: Iterable[str] = ()) -> None:
        """Change these attributes and remove those named in `without`, with all resources of a resource list."""
        gone = set(without)
        kept = {name: text for name, text in self.texts.items() if name.partition(".")[0] not in gone}
        kept.update(changes)
        self.texts = kept

    def request(self, consumables: frozenset[str]) -> Request:
        """The job's request, defaults included; `consumables` are the server's consumable resources."""
        return parse_request(self.texts["schedselect"], self.texts.get("Resource_List.place", ""), consumables)

    def subjob_id(self, index: int) -> str:
        """The id of a subjob of this array."""
        return job_ids_and_states.subjob_id(self.id, index)

    def waiting_subjob(self, index: int) -> dict[str, str]:
        """The attributes that PBS shows for a subjob that has not started."""
        shown = {name: text for name, text in self.texts.items() if name.partition(".")[0] not in _ONLY_OF_ARRAYS}
        return {**shown, "job_state": "Q", "substate": "10"}

    def count_subjobs(self) -> dict[str, str]:
        """The attributes of an array that follow from its subjobs."""
        states = [subjob.state for subjob in self.subjobs.values()]
        running = sum(state in "RES" for state in states)
        counts = (len(self.waiting), running, len(states) - running)
        return {
            "array_state_count": "Queued:{} Running:{} Exiting:0 Expired:{}".format(*counts),
            "array_indices_remaining": show_indices(self.waiting, self.step),
        }


def check_request(given: Mapping[str, str], resources: Resources, server_defaults: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a request with PBS's defaults and with those derived from `select`. Raises PbsError."""
    texts = dict(_SERVER_DEFAULTS)
    for name, text in given.items():
        attribute_name, resource = split_key(name)
        attribute = find_attribute(JOB, attribute_name)
        if attribute.kind.by_resource and not resource:
            raise PbsError(UNDEFINED_ATTRIBUTE)
        texts[name] = check_value(attribute, resource, text, resources)
    texts.update(work_out_chunks(texts, resources, server_defaults))
    return texts


def work_out_chunks(
    texts: Mapping[str, str], resources: Resources, server_defaults: Mapping[str, str]
) -> dict[str, str]:
    """`schedselect` and the resources that PBS sums over the chunks. Raises PbsError for a select that it refuses."""
    select = texts.get("Resource_List.select", "")
    found: dict[str, str] = {}
    if not select:
        asked = {
            resource: texts.get(f"Resource_List.{resource}", server_defaults.get(f"resources_default.{resource}", ""))
            for resource, (_, flag) in resources.items()
            if "h" in flag
        }
        select = ":".join(["1", *(f"{resource}={text}" for resource, text in asked.items() if text)])
        found["Resource_List.select"] = select
        found["Resource_List.place"] = texts.get("Resource_List.place", "pack")
    else:
        found["Resource_List.place"] = texts.get("Resource_List.place", "free")
    defaults = {key: text for key, text in server_defaults.items() if key.startswith("default_chunk.")}
    chunks = [_complete(chunk, defaults) for chunk in select.split("+")]
    for chunk in chunks:
        _check_chunk(chunk, resources)
    try:
        request = parse_request("+".join(chunks), found["Resource_List.place"], consumables_of(resources))
    except RequestError as error:
        raise PbsError(BAD_VALUE, "Resource_List.place" if str(error).startswith("place") else "select") from error
    found["schedselect"] = "+".join(chunks)
    for resource, amount in request.totals:
        found[f"Resource_List.{resource}"] = show_amount(resource, amount)
    found["Resource_List.nodect"] = str(sum(chunk.pieces for chunk in request.chunks))
    return found


def consumables_of(resources: Resources) -> frozenset[str]:
    """The resources that running jobs consume on their vnodes."""
    return frozenset(name for name, (_, flag) in resources.items() if "n" in flag or "f" in flag)


def _complete(chunk: str, defaults: Mapping[str, str]) -> str:
    """A chunk with its count, and with the server's `default_chunk` for each resource that it does not name."""
    count, _, rest = chunk.partition(":") if chunk[:1].isdigit() else ("1", "", chunk)
    parts = [count, *filter(None, rest.split(":"))]
    named = {part.partition("=")[0] for part in parts}
    for key, text in defaults.items():
        resource = split_key(key)[1]
        if resource not in named:
            parts.append(f"{resource}={text}")
    return ":".join(parts)


def _check_chunk(chunk: str, resources: Resources) -> None:
    for part in chunk.split(":")[1:]:
        resource, equals, text = part.partition("=")
        if resource not in resources:
            raise PbsError(UNKNOWN_RESOURCE, text=f"Unknown resource: {resource}")
        if not equals or (resources[resource][0] in ("long", "size") and parse_amount(text) is None):
            raise PbsError(BAD_VALUE, f"select.{resource}")


def read_indices(text: str) -> tuple[int, ...]:
    """The indices of `1-5` or `2-10:2`, as `qsub -J` takes them: one range. PbsError for anything else."""
    unread: list[str] = []
    indices = job_ids_and_states.read_indices(text, unread) if _RANGE.fullmatch(text) else ()
    if unread or not indices:
        raise PbsError(BAD_VALUE, "array_indices_submitted")
    return indices


def show_indices(indices: Iterable[int], step: int) -> str:
    """Indices as PBS writes them, with the step of their array: `2,4-6`, `1-10:3`, and `-` for none."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][-1] + step:
            runs[-1].append(index)
        else:
            runs.append([index])
    by = f":{step}" if step > 1 else ""
    parts = [f"{run[0]}-{run[-1]}{by}" if len(run) > 1 else str(run[0]) for run in runs]
    return ",".join(parts) or "-"


def show_day(time_s: float) -> str:
    """A time as PBS writes it in comments: `Fri Nov 20 at 20:44`."""
    return time.strftime("%a %b %d at %H:%M", time.localtime(time_s))
