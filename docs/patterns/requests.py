"""Requests for the servers of docs/patterns.md: a manifest of a video segment as JSON, one on a line.

python3 docs/patterns/requests.py 500 >requests
"""

import json
import random
import sys

CITIES = ("blr", "bom", "del", "hyd", "maa", "ccu", "pnq", "amd")


def main() -> None:
    """Prints as many as the first argument says; always the same."""
    chance = random.Random(1)
    for sequence in range(int(sys.argv[1])):
        edges = [
            {
                "pop": f"edge-{city}-{chance.randrange(9):02}.cdn.example.net",
                "lat_ms": chance.randrange(2, 25),
            }
            for city in chance.sample(CITIES, 6)
        ]
        manifest = {
            "stream_id": f"league-final-2026-{sequence % 7:03}-main",
            "segment_seq": 42_000 + sequence,
            "duration_ms": 4000,
            "codec": "h264-baseline-level-3.1",
            "drm": {"scheme": "widevine", "key_id": "k-9d3a"},
            "edges": edges,
            "tags": ["live", "priority-one-of-the-evening", "catalog"] * 2,
        }
        print(json.dumps(manifest, separators=(",", ":")))


if __name__ == "__main__":
    main()
