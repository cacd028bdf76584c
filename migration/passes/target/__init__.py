"""The target's side: answers other clusters, accepts or refuses their jobs, and starts a process for each of them."""
