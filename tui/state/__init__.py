"""One poll: the view of the cluster, the poller, and the history of idle cores."""
