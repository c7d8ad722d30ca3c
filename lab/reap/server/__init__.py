"""Servers under load: what the processes of a server cost, apart from the load generator.

Accounting of a process tree belongs here; how programs are started is `reap.launch`.
"""
