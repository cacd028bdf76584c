"""What is on a job: id and state, the resource list, and what pbsteer writes there: comment, mark, the select that it
had before striping, and the digest of a planned start."""
