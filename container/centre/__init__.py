"""A whole centre on one machine: several testbeds, each a cluster of its own, whose servers reach each other by SSH."""
