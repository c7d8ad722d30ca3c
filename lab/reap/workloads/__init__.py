"""The programs that are measured: their cards, their sources, what they need, one run of each."""
