"""All that a hook stores: the files in PBS_HOME/pbsteer, and the configuration of the hooks."""
