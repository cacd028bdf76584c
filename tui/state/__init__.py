"""The state after one poll: the cluster view, the poller, ended jobs, and words for modes and pauses."""
