"""The modules pbs and pbs_ifl over the simulated server, and what runs hook files with them."""
