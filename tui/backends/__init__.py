"""Backends: the interface to any cluster, the journal of passes, PBS servers and the simulated cluster."""
