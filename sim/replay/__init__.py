"""The replay of a workload under a policy, and its metrics."""
