"""Facts of this machine: its processor, its available memory, whether its programs may be sampled.

Nothing here starts the program that is measured.
"""
