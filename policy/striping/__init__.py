"""P5: the ranks of a job spread over more nodes than they need."""
