"""One pass of pbsteer (PBS calls a scheduler's own a cycle): the order of attempts, and the outcome of each."""
