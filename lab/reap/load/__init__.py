"""`reap load`: an open loop of requests at a fixed rate, for servers that no kept generator loads so.

What is sent, when, and how long answers took belongs here; how servers are started is in `reap.server`.
"""
