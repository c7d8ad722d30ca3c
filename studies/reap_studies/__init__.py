"""Papers reproduced, and the workloads and scenarios that they measure: the distribution reap-studies.

Of the lab it imports `reap.api` alone. Its commands are entry points: `commands`.
"""
