"""Several commands over one connection with a job's key, with real ssh and sshd: each runs the forced command, which
looks at the job's record anew.
"""

from __future__ import annotations

import pytest

from tests.pbs.centre.act_as_user_and_service import HOME, SiteUser

pytestmark = pytest.mark.slow

_OPEN = """key="$1/jobs/$2/datakey.1"; options="-F none -i $key -o BatchMode=yes -o ControlPath=$1/jobs/$2/socket"
setsid --fork ssh $options -N -o ControlMaster=yes "$3" > /dev/null 2>&1 < /dev/null
until [ -e "$1/jobs/$2/socket" ]; do sleep 0.1; done"""
_ASK = 'ssh -F none -o BatchMode=yes -o ControlPath="$1/jobs/$2/socket" "$3" "$4" 2>&1 < /dev/null || true'
_CLOSE = 'ssh -F none -o ControlPath="$1/jobs/$2/socket" -O exit "$3" 2> /dev/null || true'


def test_each_command_over_a_shared_connection_is_checked_by_itself(pbs_user: SiteUser) -> None:
    gid = pbs_user.sent(pbs_user.submit(pbs_user.folder("shared", "exec sleep 900"), "-t", "b"))
    pbs_user.wait_there(gid, "Submitted", ran=1)
    words = (HOME, gid, f"mg@{pbs_user.centre.clusters['a'].spec.name}")
    pbs_user.there(_OPEN, *words)
    try:
        for _ in range(2):
            assert '"problem": ""' in pbs_user.there(_ASK, *words, "mg survey")
            for wrong in ("id", "mg avail", "rsync --server --sender -e.Ls . /etc/passwd", "mg survey; id"):
                assert "mgdata: " in pbs_user.there(_ASK, *words, wrong)
        pbs_user.do(pbs_user.programs.path("mgstop"), "--discard", gid)
        assert pbs_user.wait_for(gid)["state"] == "Stopped"
        assert "no job whose data another cluster may have" in pbs_user.there(_ASK, *words, "mg survey")
    finally:
        pbs_user.there(_CLOSE, *words)
