"""What a simulated server has: jobs, vnodes, MoMs, their attributes as PBS writes them, PBS's errors, and the clock."""
