"""Everything that a hook keeps: the files in PBS_HOME/pbsteer, and the configuration of the hooks."""
