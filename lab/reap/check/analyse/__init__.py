"""From a recording to figures that a limit can be compared with."""
