"""The pytest plugin of `reap check`: limits of tests, each of which runs in a recorded process of its own.

What a recorded process does belongs in `plugin`, how one is started and judged in `child`.
"""
