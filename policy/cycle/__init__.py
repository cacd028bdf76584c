"""One scheduling pass: which jobs are attempted in which order, and what an attempt comes to."""
