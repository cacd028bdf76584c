"""Jobs that migrate between clusters: the files, programs and connections around ``policy.migration``.

Every cluster runs the same programs and may send and receive jobs; there is no master. A site without a cluster file
(``MG_HOME/cluster.toml``) runs none of this.
"""
