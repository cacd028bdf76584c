"""Pages of text: overview, attention, plan, pass, one job, status report."""
