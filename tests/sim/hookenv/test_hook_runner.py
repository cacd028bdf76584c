"""Hook files against a simulated server: what they can import, what becomes of errors, and that sites never meet."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from sim.hookenv.hook_runner import HookSite
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.status_requests import stat_jobs
from sim.pbs_server.server import SimServer

BEGIN_S = 1_000_000.0

ACCEPT = "import pbs\npbs.event().accept()\n"


def make_server(name: str = "sim") -> SimServer:
    server = SimServer(name, Clock(BEGIN_S))
    server.add_queue("workq")
    server.add_vnode("v1", {"ncpus": "4", "mem": "16gb"})
    return server


def logged(server: SimServer, mark: str) -> list[str]:
    return [line.partition(mark)[2] for line in server.log if mark in line]


def test_a_hook_may_refuse_a_submission(tmp_path: Path) -> None:
    server = make_server()
    HookSite(server, {"queuejob": "import pbs\npbs.event().reject('not today')\n"}, tmp_path)
    with pytest.raises(PbsError) as error:
        server.submit("alice", "chem", {}, 60.0)
    assert (error.value.code, error.value.text) == (15136, "not today")


def test_what_a_hook_sets_on_a_submission_is_kept(tmp_path: Path) -> None:
    server = make_server()
    source = (
        "import pbs\njob = pbs.event().job\njob.Resource_List['soft_walltime'] = pbs.duration(90)\njob.Priority = 7\n"
    )
    HookSite(server, {"queuejob": source}, tmp_path)
    job = server.submit("alice", "chem", {}, 60.0)
    texts = stat_jobs(server, job)[0][1]
    assert (texts["Resource_List.soft_walltime"], texts["Priority"]) == ("00:01:30", "7")


def test_a_hook_that_raises_refuses_the_request_as_in_pbs(tmp_path: Path) -> None:
    server = make_server()
    HookSite(server, {"queuejob": "raise ValueError('boom')\n"}, tmp_path)
    with pytest.raises(PbsError, match="request rejected as filter hook 'pbsteer_queuejob' encountered an exception"):
        server.submit("alice", "chem", {}, 60.0)
    assert logged(server, "ValueError: boom")


def test_a_periodic_hook_that_raises_is_logged_and_harms_nobody(tmp_path: Path) -> None:
    server = make_server()
    HookSite(server, {"periodic": "raise ValueError('boom')\n"}, tmp_path).periodic()
    assert logged(server, "ValueError: boom")


def test_a_guard_sees_the_start_before_the_vnode_is_charged(tmp_path: Path) -> None:
    server = make_server()
    source = (
        "import pbs\n"
        "vnode = pbs.server().vnode('v1')\n"
        "pbs.logmsg(pbs.LOG_WARNING, 'SEEN %s %s' % (vnode.resources_assigned['ncpus'], pbs.event().job.exec_vnode))\n"
    )
    HookSite(server, {"runjob": source}, tmp_path)
    for _ in range(2):
        server.run_job(server.submit("alice", "chem", {}, 60.0), "(v1:ncpus=3)")
    assert logged(server, "SEEN ") == ["0 (v1:ncpus=3)", "3 (v1:ncpus=3)"]


def test_two_sites_never_meet(tmp_path: Path) -> None:
    source = (
        "import pbs, pbs_ifl, sys, types\n"
        "name = 'kept_by_hand'\n"
        "if name not in sys.modules:\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "    sys.modules[name].owner = pbs.server().name\n"
        "pbs.logmsg(pbs.LOG_WARNING, 'OWNER %s %s' % (sys.modules[name].owner, pbs_ifl.pbs_default()))\n"
    )
    servers = [make_server("one"), make_server("two")]
    sites = [HookSite(server, {"periodic": source}, tmp_path) for server in servers]
    for site in (*sites, *sites):
        site.periodic()
    assert logged(servers[0], "OWNER ") == ["one one"] * 2
    assert logged(servers[1], "OWNER ") == ["two two"] * 2
    assert not {"pbs", "pbs_ifl", "kept_by_hand"} & sys.modules.keys()


def test_hooks_live_in_the_simulated_time_and_nobody_else_does(tmp_path: Path) -> None:
    server = make_server()
    source = "import pbs, time\npbs.logmsg(pbs.LOG_WARNING, 'NOW %d %s' % (time.time(), time.strftime('%Y')))\n"
    site = HookSite(server, {"periodic": source}, tmp_path)
    real_s = time.time()
    server.clock.run_until(BEGIN_S + 100)
    site.periodic()
    assert logged(server, "NOW ") == [f"{int(BEGIN_S + 100)} {time.localtime(BEGIN_S).tm_year}"]
    assert time.time() >= real_s


def test_each_event_has_fresh_globals(tmp_path: Path) -> None:
    server = make_server()
    source = "import pbs\npbs.logmsg(pbs.LOG_WARNING, 'KNOWN %s' % ('seen' in globals()))\nseen = True\n"
    site = HookSite(server, {"periodic": source}, tmp_path)
    site.periodic()
    site.periodic()
    assert logged(server, "KNOWN ") == ["False", "False"]


def test_a_hook_finds_its_configuration_and_pbs_home(tmp_path: Path) -> None:
    server = make_server()
    config = tmp_path / "hook.json"
    config.write_text('{"a": 1}', encoding="utf-8")
    source = (
        "import pbs, json\n"
        "with open(pbs.hook_config_filename) as file:\n"
        "    data = json.load(file)\n"
        "pbs.logmsg(pbs.LOG_WARNING, 'FOUND ' + json.dumps([data, pbs.pbs_conf['PBS_HOME']]))\n"
    )
    HookSite(server, {"periodic": source}, tmp_path, config).periodic()
    assert json.loads(logged(server, "FOUND ")[0]) == [{"a": 1}, str(tmp_path)]


def test_a_hook_that_accepts_lets_pbs_go_on(tmp_path: Path) -> None:
    server = make_server()
    HookSite(server, {"queuejob": ACCEPT, "runjob": ACCEPT}, tmp_path)
    job = server.submit("alice", "chem", {}, 60.0)
    server.run_job(job, "(v1:ncpus=1)")
    assert stat_jobs(server, job)[0][1]["job_state"] == "R"


def test_a_start_nobody_waits_for_tells_in_the_comment_why_it_was_refused(tmp_path: Path) -> None:
    server = make_server()
    periodic = (
        "import pbs, pbs_ifl\n"
        "c = pbs_ifl.pbs_connect(None)\n"
        "code = pbs_ifl.pbs_asyrunjob(c, '0.sim', '(v1:ncpus=1)', None)\n"
        "pbs.logmsg(pbs.LOG_WARNING, 'CODE %s' % code)\n"
        "code = pbs_ifl.pbs_runjob(c, '0.sim', '(v1:ncpus=1)', None)\n"
        "pbs.logmsg(pbs.LOG_WARNING, 'CODE %s %s' % (code, pbs_ifl.pbs_geterrmsg(c)))\n"
    )
    site = HookSite(server, {"periodic": periodic, "runjob": "import pbs\npbs.event().reject('full')\n"}, tmp_path)
    job = server.submit("alice", "chem", {}, 60.0)
    site.periodic()
    assert logged(server, "CODE ") == ["0", "15136 full"]
    assert stat_jobs(server, job)[0][1]["comment"] == "Not Running: PBS Error: full"


def test_a_list_of_the_wrong_kind_is_an_error_as_with_swig(tmp_path: Path) -> None:
    server = make_server()
    source = (
        "import pbs, pbs_ifl\n"
        "c = pbs_ifl.pbs_connect(None)\n"
        "try:\n"
        "    pbs_ifl.pbs_alterjob(c, '0.sim', pbs_ifl.attropl(), None)\n"
        "except TypeError as error:\n"
        "    pbs.logmsg(pbs.LOG_WARNING, 'SAID %s' % error)\n"
    )
    server.submit("alice", "chem", {}, 60.0)
    HookSite(server, {"periodic": source}, tmp_path).periodic()
    assert len(logged(server, "SAID ")) == 1


def test_an_alteration_is_shown_with_what_was_before_and_may_be_refused_changed_or_unset(tmp_path: Path) -> None:
    server = make_server()
    source = (
        "import pbs\ne = pbs.event()\nold, new = e.job_o.Resource_List, e.job.Resource_List\n"
        "if new['walltime'] is not None and new['walltime'] > old['walltime']:\n    e.reject('no longer')\n"
        "new['soft_walltime'] = None\nnew['select'] = pbs.select('2:ncpus=1')\n"
    )
    asked = {"Resource_List.walltime": "01:00:00", "Resource_List.soft_walltime": "00:30:00"}
    job = server.submit("alice", "chem", asked, 60.0)
    HookSite(server, {"modifyjob": source}, tmp_path)
    with pytest.raises(PbsError, match="no longer"):
        server.alter_job(job, {"Resource_List.walltime": "02:00:00"}, "alice")
    server.alter_job(job, {"comment": "as PBS's scheduler writes it"}, "Scheduler")
    assert stat_jobs(server, job)[0][1]["Resource_List.soft_walltime"] == "00:30:00"
    server.alter_job(job, {"Resource_List.walltime": "00:20:00"}, "alice")
    texts = stat_jobs(server, job)[0][1]
    assert (texts["Resource_List.select"], texts["Resource_List.ncpus"]) == ("2:ncpus=1", "2")
    assert "Resource_List.soft_walltime" not in texts


def test_chunks_cannot_be_set_as_plain_text_as_in_pbs(tmp_path: Path) -> None:
    server = make_server()
    HookSite(server, {"queuejob": "import pbs\npbs.event().job.Resource_List['select'] = '2:ncpus=1'\n"}, tmp_path)
    with pytest.raises(PbsError, match="encountered an exception"):
        server.submit("alice", "chem", {}, 60.0)
