"""What users call: ``mgsub``, ``mgstat``, ``mgstop``, ``findavl``. They read public copies, and leave requests."""
