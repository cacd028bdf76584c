"""The order in which a site's PBS scheduler takes jobs, as values: its formula, sort keys, fair share and queues."""
