"""``cluster.toml``: this cluster, the others in the order in which they are asked, and the limits."""
