"""The testbed: a real PBS server and its MoMs on one machine, each on a host of its own, brought up and taken down."""
