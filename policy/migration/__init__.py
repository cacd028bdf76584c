"""Jobs that migrate between clusters: records, states, and the decision which request goes where."""
