"""Owners of a process's anonymous memory, as far as they show from outside: stacks, language runtimes.

Whatever is read lies in the process, may change meanwhile and may be made up: an owner gets no more than what
is resident, and what cannot be read has none. Nothing enters the process or stops it.
"""
