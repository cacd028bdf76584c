"""Pages of text about the whole cluster, the plan and its passes, and one job. Here are the lines around every page:
header, tabs, keys, and where a line leads to."""
