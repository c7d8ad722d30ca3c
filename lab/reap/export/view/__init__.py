"""The formats, a file for each. Symbol names come from the measured program: they must not break a format."""
