"""The console and the command line: they show a cluster and make an administrator's changes, such as quotas."""
