"""The cluster at one moment: free resources as bit sets, the index of jobs and runs, and the versioned snapshot."""
