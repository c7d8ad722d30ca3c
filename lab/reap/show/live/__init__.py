"""View of a recording in progress: `reap show --live`, and `reap record --live`.

Reads what was written since the last refresh, and shows it in the terminal or as lines.
"""
