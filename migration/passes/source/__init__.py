"""The source's pass, every minute: takes in submissions and stops, offers jobs to other clusters, runs them here where
that is sooner, and copies their states from the targets."""
