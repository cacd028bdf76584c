"""What the service's account runs: ``mgsched``, ``mgrecv`` and ``mgproc``, what sshd starts for keys of other clusters,
and the root helper's entry."""
