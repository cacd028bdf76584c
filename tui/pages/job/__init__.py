"""The pages of one job: what it is, why it waits, when it starts, its history, script and output."""
