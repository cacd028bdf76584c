"""Files that their user has closed, and processes that their user stops: what they cost the others, on PBS."""

from __future__ import annotations

import pytest

from tests.pbs.centre.act_as_user_and_service import SiteUser

pytestmark = pytest.mark.centre_faults


def test_a_closed_file_aborts_its_job_and_keeps_no_core_from_others(pbs_user: SiteUser) -> None:
    closed, open_ = pbs_user.folder("closed", "exit 0"), pbs_user.folder("open", "exit 0")
    pbs_user.sh('echo x > "$1/shut"; chmod 000 "$1/shut"', closed)
    gid = pbs_user.sent(pbs_user.submit(closed, "-t", "b", cores=pbs_user.cores("b")))
    job = pbs_user.wait_for(gid, "Aborted")
    assert job["reason"] == "shut: cannot be opened by its user"
    assert pbs_user.wait_for(pbs_user.submit(open_, "-t", "b", cores=pbs_user.cores("b")))["exit"] == "0"


def test_an_upload_that_is_tried_again_keeps_no_core_from_others(pbs_user: SiteUser) -> None:
    """The file is closed after the folder was looked through, so that rsync fails."""
    first, other = pbs_user.folder("first", "exit 0"), pbs_user.folder("other", "exit 0")
    pbs_user.sh('head -c 3000000 /dev/urandom > "$1/a"; cp "$1/a" "$1/z"', first)
    gid = pbs_user.sent(pbs_user.submit(first, "-t", "b", cores=pbs_user.cores("b")))
    with pbs_user.slow(2000):
        pbs_user.receive()
        landing = str(pbs_user.centre.clusters["b"].folder / "landing")
        pbs_user.wait_until_silent("b", f'find {landing} -name ".a.*" | grep -q . || echo nothing', user="root")
        pbs_user.sh('chmod 000 "$1/z"', first)
        record = pbs_user.wait_there(gid, "Uploading", tries=1)
    assert "Permission denied" in record.reason
    assert pbs_user.wait_for(pbs_user.submit(other, "-t", "b", cores=pbs_user.cores("b")))["exit"] == "0"
    pbs_user.try_now(gid)
    assert pbs_user.wait_for(gid, "Aborted")["reason"] == "z: cannot be opened by its user"
