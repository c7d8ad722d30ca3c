"""Strict readers of what `reap export` writes, apart from the code that writes it."""

import gzip
import re

GRAMMAR = re.compile(r"(?:[^;\s][^;\n\x00-\x1f\x7f]*)(?:;[^;\s][^;\n\x00-\x1f\x7f]*)* [1-9][0-9]*")
"""A line of collapsed stacks."""


def stacks_of(text: str) -> dict[tuple[str, ...], int]:
    """Collapsed stacks, outermost first; each stack stands once."""
    assert text.endswith("\n")
    found = {}
    for line in text[:-1].split("\n"):
        assert GRAMMAR.fullmatch(line), line
        stack, _, count = line.rpartition(" ")
        key = tuple(stack.split(";"))
        assert key not in found
        found[key] = int(count)
    return found


# Fields of the messages of profile.proto by number: name, and what they hold.
MESSAGES = {
    "Profile": {
        1: ("sample_type", "ValueType"), 2: ("sample", "Sample"), 3: ("mapping", "Mapping"),
        4: ("location", "Location"), 5: ("function", "Function"), 6: ("string_table", "string"),
        9: ("time_nanos", "int"), 10: ("duration_nanos", "int"), 13: ("comment", "packed"),
        14: ("default_sample_type", "int"),
    },
    "ValueType": {1: ("type", "int"), 2: ("unit", "int")},
    "Sample": {1: ("location_id", "packed"), 2: ("value", "packed"), 3: ("label", "Label")},
    "Label": {1: ("key", "int"), 2: ("str", "int")},
    "Mapping": {1: ("id", "int"), 5: ("filename", "int"), **{n: (f"has_{n}", "int") for n in (7, 8, 9, 10)}},
    "Location": {1: ("id", "int"), 2: ("mapping_id", "int"), 3: ("address", "int"), 4: ("line", "Line")},
    "Line": {1: ("function_id", "int"), 2: ("line", "int")},
    "Function": {1: ("id", "int"), 2: ("name", "int"), 3: ("system_name", "int"), 4: ("filename", "int")},
}  # fmt: skip


def profile_of(compressed: bytes) -> dict[str, list]:
    """A profile of pprof. Fields that profile.proto does not have, or of another kind, fail."""
    return _message(gzip.decompress(compressed), "Profile")


def _message(data: bytes, kind: str) -> dict[str, list]:
    out: dict[str, list] = {name: [] for name, _ in MESSAGES[kind].values()}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        name, holds = MESSAGES[kind][tag >> 3]
        if holds == "int":
            assert tag & 7 == 0, name
            value, at = _varint(data, at)
            out[name].append(value)
            continue
        assert tag & 7 == 2, name
        length, at = _varint(data, at)
        assert at + length <= len(data)
        body, at = data[at : at + length], at + length
        if holds == "packed":
            place = 0
            while place < len(body):
                value, place = _varint(body, place)
                out[name].append(value)
        else:
            out[name].append(body.decode() if holds == "string" else _message(body, holds))
    return out


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def stacks_of_profile(profile: dict[str, list], measure: str) -> dict[tuple[str, ...], int]:
    """Its stacks of functions, outermost first, inlined ones too. Every reference has to lead somewhere."""
    text = profile["string_table"]
    assert text[0] == ""
    assert len(set(text)) == len(text)
    functions = {each["id"][0]: text[each["name"][0]] for each in profile["function"]}
    mappings = {each["id"][0] for each in profile["mapping"]}
    locations = {}
    for each in profile["location"]:
        assert each["mapping_id"] == [] or each["mapping_id"][0] in mappings
        locations[each["id"][0]] = [functions[line["function_id"][0]] for line in each["line"]]
    column = [text[each["type"][0]] for each in profile["sample_type"]].index(measure)
    found: dict[tuple[str, ...], int] = {}
    for sample in profile["sample"]:
        assert len(sample["value"]) == len(profile["sample_type"])
        stack = tuple([name for number in sample["location_id"] for name in locations[number]][::-1])
        if sample["value"][column]:
            found[stack] = found.get(stack, 0) + sample["value"][column]
    return found


def check_chrome_trace(document: dict) -> None:
    """The rules of the trace event format for the events that are used."""
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert document["displayTimeUnit"] == "ms"
    last: dict[str, float] = {}
    for event in document["traceEvents"]:
        assert {"name", "ph", "pid", "tid", "ts", "args"} <= set(event)
        assert event["ph"] in {"M", "C", "i"}
        assert all(isinstance(event[name], int) for name in ("pid", "tid"))
        assert isinstance(event["ts"], int | float)
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
            assert event["ts"] >= last.get(event["name"], 0)
            last[event["name"]] = event["ts"]
        if event["ph"] == "i":
            assert event["s"] in {"g", "p", "t"}
        if event["ph"] == "M":
            assert list(event["args"]) == ["name"]
