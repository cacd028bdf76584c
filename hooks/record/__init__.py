"""What a pass leaves to read: the journal, counts, the history of runs and the summary."""
