"""Servers under load: what the processes of a server cost, apart from the load generator.

Starting, loading, stopping and accounting of servers belong here; how any program is started is in
`reap.launch`.
"""
