"""A program that the launcher starts as `reap record` does: with our own streams and terminal."""

UNTOUCHED = """
import sys
from reap.launch import spawn
from reap.launch.records import Launch
outcome = spawn.run(Launch(argv=sys.argv[1:], program=sys.argv[1], capture=False))
sys.exit(outcome.status)
"""
