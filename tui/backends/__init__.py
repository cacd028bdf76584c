"""What the console may ask of any cluster, the journal of passes, and the simulated cluster."""
