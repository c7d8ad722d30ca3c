"""Verdicts on the parts of resident memory, and what could be done about each."""
