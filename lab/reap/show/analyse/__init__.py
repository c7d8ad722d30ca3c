"""From a recording to its views: `flame` has stacks, `slices` the same over time, `source` its lines."""
