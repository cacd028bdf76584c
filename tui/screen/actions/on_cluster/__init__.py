"""Actions that change the cluster: operations on rows, quotas, pause, undo, migrating jobs, the simulation."""
