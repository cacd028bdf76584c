"""The hosts of a testbed, for any engine and scheduler: requirements, users, sensors, and entering a running one."""
