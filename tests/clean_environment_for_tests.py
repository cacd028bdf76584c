"""The environment that tests run in: the variables named here, whatever the machine or its user has set besides.

``tests/conftest.py`` applies it before any test is collected. Programs started by tests inherit it.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Mapping, MutableMapping

KEPT = frozenset({
    "PATH", "HOME", "TMPDIR",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    "OPENBLAS_CORETYPE", "TEXTUAL_SNAPSHOT_TEMPDIR", "LAWS", "PBSTEER_ENGINE", "PBSTEER_CRIU",
})  # fmt: skip
"""What is taken over: where programs, the home and temporary files are, how images of the testbed are downloaded,
which CPU numpy is to assume, where the workers of a run leave their screens, and the tests' own variables."""
KEPT_PREFIX = "PYTEST_"
FIXED: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "xterm-256color",
    "PBS_CONF_FILE": "/nonexistent/pbs.conf",
    "XDG_CONFIG_HOME": "/nonexistent/config",
    "XDG_STATE_HOME": "/nonexistent/state",
}
"""What tests find in any case: no PBS and no user's file of this machine. A test names those that it uses."""
PBS_EXEC = "PBSTEER_TESTS_PBS_EXEC"
"""Where the tests' own testbeds look for PBS: what ``PBS_EXEC`` was, under a name that the product does not read."""
UMASK = 0o022


def cleaned(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of tests, from the one of whoever runs them."""
    kept = {name: text for name, text in given.items() if name in KEPT or name.startswith(KEPT_PREFIX)}
    pbs_exec = given.get("PBS_EXEC") or given.get(PBS_EXEC)
    return {**kept, **FIXED, **({PBS_EXEC: pbs_exec} if pbs_exec else {})}


def for_testbeds(environment: Mapping[str, str]) -> dict[str, str]:
    """The same with ``PBS_EXEC``, for the functions of :mod:`container` that look for the PBS to run."""
    pbs_exec = environment.get(PBS_EXEC) or environment.get("PBS_EXEC")
    return {**environment, **({"PBS_EXEC": pbs_exec} if pbs_exec else {})}


def apply(environment: MutableMapping[str, str]) -> None:
    """Make this process one that tests can run in."""
    wanted = cleaned(environment)
    environment.clear()
    environment.update(wanted)
    time.tzset()
    os.umask(UMASK)
    if "textual.constants" in sys.modules:
        # A plugin of pytest imports Textual before any conftest.py, and its constants are read at the import.
        importlib.reload(sys.modules["textual.constants"])
