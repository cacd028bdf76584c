"""One scheduling pass: the order in which jobs are attempted, and the outcome of each attempt."""
