"""From a profile and a comparison to the verdict of `reap run`. Pure functions."""
