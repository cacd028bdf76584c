"""The modules pbs and pbs_ifl over the simulated server, and the runner of hook files."""
