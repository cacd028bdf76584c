"""Why a job waits, is preempted or starts where it does: a code with numbers, and the sentence for each code."""
