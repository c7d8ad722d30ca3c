"""What Python programs do all day: records to JSON and back, a dictionary of them, text, sorting.

bench/malloc.py runs it. It prints three numbers, the same ones every time.
"""

import collections
import json
import random
import re


def main() -> None:
    """One pass over 60,000 records."""
    random.seed(1)
    words = ["".join(random.choice("abcdefgh") for _ in range(random.randint(2, 9))) for _ in range(20000)]
    records = [
        {
            "id": number,
            "name": words[number % 20000] + str(number),
            "tags": [random.choice(words) for _ in range(5)],
            "value": number * 0.5,
        }
        for number in range(60000)
    ]
    text = json.dumps(records)
    back = json.loads(text)
    counts = collections.Counter(tag for record in back for tag in record["tags"])
    by_name = {record["name"]: tuple(record["tags"]) for record in back}
    short = re.sub("[aeiou]", "", text)
    for _ in range(3):
        back = sorted(back, key=lambda record: record["name"])
        _lines = [str(record["value"]).encode() * 3 for record in back]
    print(len(short), len(counts), len(by_name))


main()
