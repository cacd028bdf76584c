"""The console and the command line: what an administrator sees of a cluster, and how quotas are changed."""
