"""What a comparison of replays shows beyond means: measured jobs, gains with intervals, costs by user, size and job."""
