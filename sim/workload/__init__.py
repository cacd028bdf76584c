"""The jobs and the cluster of a replay, and the models that generate jobs."""
