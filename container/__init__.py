"""The testbed: a real PBS server and its MoMs on one machine, each on its own host, brought up and taken down."""
