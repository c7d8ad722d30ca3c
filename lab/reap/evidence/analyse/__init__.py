"""From what was sampled, counted and traced to the facts of the wall. Pure: no files, no processes."""
