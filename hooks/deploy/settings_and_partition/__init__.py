"""What is applied: the settings, checked against this server, and the part of the cluster with a scheduler of its
own."""
