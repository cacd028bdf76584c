"""The pages of text: overview, attention, plan, pass, one job."""
