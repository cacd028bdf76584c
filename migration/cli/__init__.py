"""The programs: those of users (mgsub, mgstat, mgstop, findavl), those of the service's account (mgsched, mgrecv,
mgproc and what sshd starts), and ``pbsteer migrate`` for administrators."""
