"""Recorded workloads: the Standard Workload Format and PBS's accounting logs."""
