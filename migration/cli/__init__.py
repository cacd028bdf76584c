"""The programs: mgsub, mgsched, findavl, mgrecv, mgproc, mgstat, mgstop, and ``pbsteer migrate``."""
