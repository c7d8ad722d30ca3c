"""The hook that measured Pythons load spells out the one binary layout that Python has."""

import re
import struct
from pathlib import Path

LAB = Path(__file__).parents[2]


def test_the_hook_has_the_slot_of_the_header():
    header = (LAB / "format" / "reap_collections.h").read_text()
    body = re.search(r"struct reap_collections_slot \{(.*?)\};", header, re.DOTALL)[1]
    fields = re.findall(r"^\s*(\w+) (\w+);", body, re.MULTILINE)
    assert {kind for kind, _ in fields} == {"int64_t"}
    assert len(fields) == body.count(";")

    hook = (LAB / "reap" / "launch" / "python_hook" / "sitecustomize.py").read_text()
    (layout,) = re.findall(r'struct\.Struct\("(.*?)"\)', hook)
    assert layout == f"={len(fields)}q"
    assert struct.calcsize(layout) == 8 * len(fields)

    assert [name for _, name in fields] == ["pid", "count", "ns", "longest_ns"]
    (written,) = re.findall(r'pack_into\(slots, state\["at"\], (.*)\)', hook)
    assert written == 'os.getpid(), state["count"], state["time"], state["most"]'
