"""Reap, the lab: is memory allocation what holds a program back, and what would each remedy give?

Three layers, each of which imports only those before it: the foundation (base, allocators, draw, launch,
recording, workloads, experiment, verdicts, commandline), a folder for each capability, and what puts them
together (run, report, study, cli). The contracts in pyproject.toml hold the order.
"""

__version__ = "0.1.0"
