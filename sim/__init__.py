"""The simulator: replays workloads (SWF traces, PBS accounting logs, synthetic jobs) with the policy code that decides
on a real server, and reports, compares and tunes policies. It also has a simulated PBS server, on which the real hooks
run in the console's demo and in tests.
"""
