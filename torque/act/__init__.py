"""Acting on a Torque server by its library, with a look at the job right before each deed that could go wrong."""
