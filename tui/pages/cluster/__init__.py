"""The whole cluster: the overview, what needs attention, what changed, other clusters; ``pbsteer status`` in lines."""
