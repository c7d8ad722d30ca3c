"""The conclusions of the evaluation of six allocators, each with its rule. Pure functions."""
