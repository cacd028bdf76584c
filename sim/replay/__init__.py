"""A workload under a policy, measured."""
