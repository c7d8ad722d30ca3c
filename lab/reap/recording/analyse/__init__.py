"""From a recording to the figures that follow from it. Pure functions: no files, no processes."""
