"""From the facts of the wall to causes and remedies. Pure functions."""
