"""Torque on the testbed's hosts, from the installed one."""
