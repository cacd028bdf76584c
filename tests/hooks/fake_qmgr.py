"""A server that understands the qmgr lines of deploying, keeps what they set, and can be told to refuse one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from hooks.deploy.read_installed_server_state import Reply

_HOOK_DEFAULTS = {
    "type": "site", "enabled": "true", "user": "pbsadmin", "alarm": "30", "order": "1", "debug": "false",
    "fail_action": "none",
}  # fmt: skip
_SUFFIXES = {"application/x-python": ".PY", "application/x-config": ".CF"}


class FakeQmgr:
    """Call it with a line. ``refuse``: a pattern; the next line that it matches is refused, once.
    ``being_deleted``: how often a hook is not created, since PBS still deletes it on hosts. ``busy``: resources
    that are in use, whose flags change no more either; ``jobs``: the jobs of each vnode, as PBS lists them;
    ``reported``: resources of which a MoM reports a value just before they are created, or just after they were
    deleted, once each: PBS creates them then."""

    _EMPTY: ClassVar[Mapping[str, Reply]] = {
        "queue": Reply(1, "", ""),
        "node": Reply(
            1, "", "qmgr obj= svr=default: Server has no node list\nqmgr: Error (15064) returned from server\n"
        ),
    }
    """qmgr's replies to a list of what the server has none of."""

    def __init__(self, home: Path) -> None:
        self.files = home / "server_priv" / "hooks"
        self.files.mkdir(parents=True)
        (self.files.parent / "server.lock").write_text("1\n")
        self.hooks: dict[str, dict[str, str]] = {"other": {**_HOOK_DEFAULTS, "event": "queuejob"}}
        self.resources: dict[str, str] = {"licences": "type=long,flag=q"}
        self.settings: list[str] = ["set server flatuid = True", "set queue workq started = True"]
        self.scheduling = {"default": "True"}
        self.objects = {"queue": ["workq", "gpu"], "node": ["n1", "n2"]}
        self.partitions = {"sched default": "pbs-default"}
        self.jobs: dict[str, str] = {}
        self.lines: list[str] = []
        self.refuse = ""
        self.being_deleted = 0
        self.busy: set[str] = set()
        self.reported: set[str] = set()

    def __call__(self, line: str) -> Reply:
        if line.partition(" ")[0] in ("list", "print"):
            if line.endswith("@default partition") and not self.objects[line.split()[1]]:
                return self._EMPTY[line.split()[1]]
            return Reply(0, self._show(line), "Max open servers: 49")
        self.lines.append(line)
        if self.being_deleted and line.startswith("create hook "):
            self.being_deleted -= 1
            return Reply(1, "", "qmgr obj= svr=default: hook name 'x' is pending delete, try another name\n")
        if self.refuse and re.search(self.refuse, line):
            self.refuse = ""
            return Reply(1, "", "qmgr obj= svr=default: refused\n")
        words = line.split()
        if words[1] == "resource" and words[0] in ("delete", "set") and words[2] in self.busy:
            name = words[2]
            refusal = f"qmgr obj={name} svr=default: Resource busy on job\nqmgr: Error (15174) returned from server\n"
            return Reply(70, "", refusal)
        if line.startswith("create resource ") and words[2] in self.reported:
            self._report(words[2])
        if line.startswith("create resource ") and words[2] in self.resources:
            refusal = f"qmgr obj={words[2]} svr=default: Duplicate entry in list \n"
            return Reply(70, "", f"{refusal}qmgr: Error (15055) returned from server\n")
        self._change(line)
        if line.startswith("delete resource ") and words[2] in self.reported:
            self._report(words[2])
        return Reply(0, "", "")

    def _report(self, name: str) -> None:
        self.reported.remove(name)
        self.resources[name] = "type=string"

    def run_lines(self, text: str) -> Reply:
        """What ``qmgr -a -e`` says of these lines."""
        printed, complaints = "Max open servers: 49\n", ""
        for line in text.splitlines():
            printed += f"{line}\n"
            reply = self(line)
            complaints += reply.complaint
            if reply.status != 0:
                return Reply(2, printed, complaints)
            if line.startswith("import hook "):
                complaints += f"hook '{line.split()[2]}' contents overwritten\n"
        return Reply(0, printed, complaints)

    def everything(self) -> object:
        """All that the server has, to be compared."""
        files = {path.name: path.read_text() for path in self.files.iterdir()}
        return self.hooks, self.resources, self.settings, self.scheduling, self.partitions, files

    def _change(self, line: str) -> None:
        verb, kind, rest = line.split(" ", 2)
        name, _, what = rest.partition(" ")
        if (verb, kind) == ("create", "resource"):
            self.resources[name] = what
        elif (verb, kind) == ("set", "resource"):
            flag = what.partition("flag = ")[2].strip("'")
            self.resources[name] = self.resources[name].partition(",")[0] + (f",flag={flag}" if flag else "")
        elif (verb, kind) == ("delete", "resource"):
            assert not [setting for setting in self.settings if f".{name} " in setting], "the resource is in use"
            del self.resources[name]
        elif (verb, kind) == ("create", "hook"):
            assert name not in self.hooks
            self.hooks[name] = {**_HOOK_DEFAULTS, **dict(pair.split("=") for pair in what.split(","))}
        elif (verb, kind) == ("delete", "hook"):
            del self.hooks[name]
            for suffix in _SUFFIXES.values():
                (self.files / (name + suffix)).unlink(missing_ok=True)
        elif (verb, kind) == ("import", "hook"):
            content_type, _, path = what.split(" ")
            (self.files / (name + _SUFFIXES[content_type])).write_text(Path(path).read_text())
        elif (verb, kind) == ("set", "hook"):
            attribute, _, value = what.partition(" = ")
            self.hooks[name][attribute] = value
        elif what.startswith("partition"):
            assert name in self.scheduling or name in self.objects.get(kind, ())
            assert kind != "node" or name not in self.jobs, "PBS refuses this"
            self.partitions.pop(f"{kind} {name}", "")
            if verb == "set":
                self.partitions[f"{kind} {name}"] = what.partition(" = ")[2]
        elif (verb, kind) == ("set", "sched"):
            self.scheduling[name] = what.partition(" = ")[2]
        elif (verb, kind) == ("create", "sched"):
            assert name not in self.scheduling
            self.scheduling[name] = "False"
        elif (verb, kind) == ("delete", "sched"):
            del self.scheduling[name]
            self.partitions.pop(f"sched {name}", "")
        elif verb == "set" and line.replace(" += ", " = ") in [each.replace(" += ", " = ") for each in self.settings]:
            pass
        elif verb == "set":
            self.settings.append(line)
        elif verb == "unset":
            self.settings = [setting for setting in self.settings if not setting.startswith(f"set {line[6:]} ")]
        else:
            raise AssertionError(f"a line that this server does not know: {line}")

    def _show(self, line: str) -> str:
        if line == "list hook @default":
            return "\n\n".join(
                f"Hook {name}\n" + "\n".join(f"    {key} = {value}" for key, value in texts.items())
                for name, texts in self.hooks.items()
            )
        if line == "list resource":
            lines = "\n\n".join(
                f"Resource {name}\n" + "\n".join(f"    {pair.replace('=', ' = ')}" for pair in what.split(","))
                for name, what in self.resources.items()
            )
            return f"#\n# Create resources and set their properties.\n#\n{lines}"
        words = line.split()
        if line == "list sched":
            return "\n".join(self._show_part("sched", name, scheduling=now) for name, now in self.scheduling.items())
        if words[0] == "list" and words[1] in self.objects:
            names = self.objects[words[1]] if words[2] == "@default" else [words[2]]
            return "\n".join(self._show_part(words[1], name, jobs=self.jobs.get(name, "")) for name in names)
        if line == "print server":
            return "#\n# Set server attributes.\n#\n" + "\n".join(self.settings)
        raise AssertionError(f"a question that this server does not know: {line}")

    def _show_part(self, kind: str, name: str, **texts: str) -> str:
        texts["partition"] = self.partitions.get(f"{kind} {name}", "")
        return f"{kind.title()} {name}\n" + "".join(f"    {key} = {text}\n" for key, text in texts.items() if text)
