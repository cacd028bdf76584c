"""A simulated PBS server with its MoMs: objects, hooks, qmgr, the scheduler."""
