"""`reap check`: whether a program stays within its budget of allocations and memory.

What limits there are, what decides that one is exceeded, and how that is reported to CI and pytest belongs
here; recording belongs to `recording`.
"""
