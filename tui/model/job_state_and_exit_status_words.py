"""Words for the codes that PBS shows of a job: state letters, substates and exit statuses (PBS's ``job.h``)."""

from __future__ import annotations

import signal

from tui.model.typed_attributes import Attributes
from tui.text.screen_line import safe

STATE_WORDS = {
    "Q": "queued",
    "R": "running",
    "H": "held",
    "W": "waiting for its time",
    "T": "in transit",
    "S": "suspended",
    "U": "suspended by its user",
    "E": "exiting",
    "B": "array, running",
    "M": "moved",
    "X": "subjob done",
    "F": "finished",
}

_USUAL_SUBSTATES = frozenset({"", "10", "20", "30", "42", "70", "92"})
"""Substates that say no more than their state."""

_SUBSTATE_WORDS = {
    "0": "in transit, not committed yet",
    "1": "in transit, being committed",
    "2": "in transit to another server",
    "3": "in transit to another server, ready to be committed",
    "11": "has files to stage in",
    "13": "waits for jobs that start together with it",
    "14": "stages files in, then waits",
    "15": "stages files in, then runs",
    "16": "has staged its files in",
    "21": "waits for jobs that start together with it",
    "22": "waits for jobs that it depends on",
    "37": "held since staging in failed",
    "41": "sent to its MoM, not confirmed as running",
    "43": "suspended by a user or an operator",
    "45": "suspended by a scheduler, or waits for one to resume it",
    "50": "has ended, the server cleans up",
    "51": "stages files out",
    "52": "deletes the files that were staged",
    "53": "cleaned up",
    "54": "aborted by the server",
    "56": "its MoM ends it on the other hosts",
    "57": "its epilogue runs",
    "58": "its MoM has reported its end",
    "59": "its site's termination script runs",
    "60": "being requeued, its output is recovered",
    "61": "being requeued, stages files out",
    "62": "being requeued, its files are deleted",
    "63": "being requeued, its MoM deletes it",
    "69": "subjob has ended",
    "71": "waits for its vnodes to be provisioned",
    "72": "waits for its other hosts to join",
    "91": "was deleted while it ran, or by its array",
    "93": "failed",
    "94": "was moved to another server",
    "153": "its MoM waits for the other hosts to delete it",
}

_EXIT_WORDS = {
    "-1": "could not be started, before its files were staged",
    "-2": "could not be started, after its files were staged",
    "-3": "could not be started, PBS tries again",
    "-4": "ended as its MoM was restarted",
    "-5": "ended as its MoM was restarted, has a checkpoint for the same host",
    "-6": "ended as its MoM was restarted, has a checkpoint for any host",
    "-7": "could not be restarted from its checkpoint",
    "-10": "its user or group is not valid on the host",
    "-11": "requeued",
    "-12": "checkpointed and ended",
    "-13": "its password is wrong",
    "-14": "requeued, since another of its hosts failed",
    "-15": "requeued to be restarted from its checkpoint",
    "-16": "refused by a hook, requeued",
    "-17": "refused by a hook, deleted",
    "-18": "requeued by a hook",
    "-19": "deleted by a hook",
    "-20": "requeued, since its first host was not reached",
    "-21": "PBS's folders on the host are not safe",
    "-22": "a hook failed",
    "-23": "had no Kerberos credentials",
    "-24": "used more cores at once than requested",
    "-25": "used more cores on average than requested",
    "-26": "used more virtual memory than requested",
    "-27": "used more memory than requested",
    "-28": "used more processor time than requested",
    "-29": "ran longer than its walltime",
    "-30": "one of its hosts did not join",
}

_SIGNALLED, _BY_SHELL = 256, 128
_SIGNALS = {number.value: number.name for number in signal.Signals}


def state_words(letter: str) -> str:
    """PBS's state letter in words."""
    return STATE_WORDS.get(letter, f"state {safe(letter)}")


def substate_words(attributes: Attributes) -> str:
    """``substate 41: sent to its MoM, ...``; empty for a substate that says no more than the state."""
    code = attributes.get("substate", "").strip()
    if code in _USUAL_SUBSTATES:
        return ""
    words = _SUBSTATE_WORDS.get(code)
    return f"substate {safe(code)}" + (f": {words}" if words else "")


def exit_words(status: str) -> str:
    """An exit status in words; empty for one that the job's own program chose."""
    if status in _EXIT_WORDS:
        return _EXIT_WORDS[status]
    number = int(status) if status.isascii() and status.isdigit() and len(status) < 5 else 0
    if number >= _SIGNALLED:
        return f"killed by {_SIGNALS.get(number - _SIGNALLED) or f'signal {number - _SIGNALLED}'}"
    name = _SIGNALS.get(number - _BY_SHELL)
    return f"a shell's status for {name}" if name else ""
