"""Where a request fits in what is free: best fit, chunks over the vnodes of a host, cores on sockets."""
