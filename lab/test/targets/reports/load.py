"""Held back by CPython's collector while a large document is loaded: nothing of it is garbage.

load.py [SCALE [cured]]: cured, the collector is off meanwhile.
"""

import gc
import pickle
import sys


def main() -> None:
    """Loads records again and again."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    if sys.argv[2:] == ["cured"]:
        gc.disable()
    text = pickle.dumps([[number, [number + 1], {"name": str(number)}] for number in range(60_000)])
    loaded = [pickle.loads(text) for _ in range(max(int(5 * scale), 1))]  # noqa: S301 - its own
    sys.stdout.write(f"{sum(len(records) for records in loaded)}\n")


if __name__ == "__main__":
    main()
