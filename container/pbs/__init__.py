"""PBS on the testbed's hosts: the texts that configure it, and its daemons."""
