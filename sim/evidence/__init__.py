"""What a comparison of replays shows beyond their means: which jobs are measured, gains with intervals, who loses."""
