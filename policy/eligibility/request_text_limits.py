"""Bounds on the texts of a request (``select``, arrays, dependencies, all others), checked before they are parsed.

Parsing, placing and showing a select takes time for each kind of chunk, in PBS as in a pass: without bounds one job
could cost as much as ten thousand others.
"""

from __future__ import annotations

from math import isfinite

from policy.eligibility.limits_of_nodes_text import count_cores_of_nodes, find_unsafe_nodes
from policy.eligibility.processes_of_select import count_processes, hides_processes
from policy.model.job_request import RequestError, count_kinds
from policy.model.pbs_units import show_count
from policy.settings.settings_of_server_and_passes import SubmissionSettings

_MOST_COUNTED = 2**31 - 1
_MOST_NESTED = 8
"""A text at the bound on texts is printed four times as long with this nesting, and 190 times with a thousand."""


def find_long_texts(length: int, bounds: SubmissionSettings) -> str:
    """The message where the texts of a request beside its chunks, ``length`` characters together, are beyond the bound;
    empty where they are within it. Each pass reads all of this anew for as long as the job exists."""
    most = bounds.text_length
    if most and length > most:
        allowed = f"allowed are {most:,} (submission.text_length)"
        return f"what it asks for beside its select has {length:,} characters; {allowed}"
    return ""


def find_long_environment(length: int, bounds: SubmissionSettings, what: str = "variables, arguments and paths") -> str:
    """The message where ``what`` PBS keeps of a request and no pass reads, ``length`` characters together, is beyond
    the bound; empty where it is within it."""
    most = bounds.environment_length
    if most and length > most:
        allowed = f"allowed are {most:,} (submission.environment_length)"
        return f"its {what} have {length:,} characters; {allowed}"
    return ""


def find_wide_array(subjobs: int, bounds: SubmissionSettings) -> str:
    """The message where an array has more subjobs than the bound; empty where it has not."""
    most = bounds.array_size
    if most and subjobs > most:
        return f"it has {subjobs:,} subjobs; allowed are {most:,} (submission.array_size)"
    return ""


def find_endless_array(last_count: int) -> str:
    """The message where PBS would not come to an end in counting through an array's indices, as its numbers have 32
    bits; empty where it would. ``last_count``: where it ends, a step beyond the last index. No setting removes this
    bound: once its owner deletes such an array, of whatever size, the server answers no more."""
    if last_count > _MOST_COUNTED:
        return (
            f"its last index and its step are {last_count:,} together; allowed are {_MOST_COUNTED:,}, as PBS counts"
            " through an array's indices in numbers of 32 bits"
        )
    return ""


def find_many_dependencies(depend: str, bounds: SubmissionSettings) -> str:
    """The message where a ``depend`` names more jobs than the bound; empty where it does not."""
    most, named = bounds.depend_jobs, depend.count(":")
    if most and named > most:
        return f"it depends on {show_count(named, 'job')}; allowed are {most:,} (submission.depend_jobs)"
    return ""


def find_excess(select: str, bounds: SubmissionSettings) -> str:
    """The message where a ``select`` is beyond the bounds; empty where it is within them. A bound of 0 means no bound.
    Equal neighbouring chunks are one kind, as in :mod:`policy.model.job_request`."""
    most = bounds.select_length
    if most and len(select) > most:
        return f"its select has {len(select):,} characters; allowed are {most:,} (submission.select_length)"
    most = bounds.select_kinds
    # Each separator begins at most one more kind.
    if most and select.count("+") >= most:
        try:
            kinds = count_kinds(select)
        except RequestError as error:
            return str(error)
        if kinds > most:
            return (
                f"its select has {show_count(kinds, 'kind')} of chunks, counting equal neighbours once;"
                f" allowed are {most:,} (submission.select_kinds)"
            )
    return find_many_processes(count_processes(select), bounds)


def find_unsafe_old_form(nodes: str, bounds: SubmissionSettings) -> str:
    """The message where chunks in the old form, ``-l nodes=``, would end PBS's server or its MoMs; empty where not."""
    return find_unsafe_nodes(nodes) or find_many_processes(count_cores_of_nodes(nodes), bounds)


def find_hidden_processes(resource: str, text: str) -> str:
    """The message where a resource beside the chunks names processes within quotes; empty where it does not."""
    if hides_processes(text):
        return f"its resource {resource} has mpiprocs in a text with quotes, which PBS would take for a chunk"
    return ""


def find_nested_text(what: str, text: str) -> str:
    """The message where a text, of a resource for example, is JSON with more lists and objects in each other than PBS
    should print; empty where it is not. No setting removes this bound. A bracket within quotes counts as any other."""
    if not text.lstrip().startswith(("[", "{")):
        return ""
    depth = deepest = 0
    for letter in text:
        if letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    if deepest <= _MOST_NESTED:
        return ""
    return (
        f"its {what} has {deepest:,} brackets in each other; allowed are {_MOST_NESTED} in a text that"
        " begins with one, as qstat -F json prints it as JSON"
    )


def find_many_processes(processes: float, bounds: SubmissionSettings) -> str:
    """The message where the processes of a job are more than the bound; empty where they are not."""
    if processes <= bounds.mpiprocs:
        return ""
    asked = f"{processes:,.0f} processes" if isfinite(processes) else "more processes than have a number of 32 bits"
    return f"it asks for {asked} (chunks times mpiprocs); allowed are {bounds.mpiprocs:,} (submission.mpiprocs)"
