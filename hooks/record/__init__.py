"""What a pass records: the journal, counts, the history of runs and the summary."""
