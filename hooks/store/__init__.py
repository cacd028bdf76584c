"""The files in PBS_HOME/pbsteer and the configuration of the hooks: everything that a hook keeps."""
