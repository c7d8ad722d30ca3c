"""A check as a JUnit file, which CI systems show among the tests: a test case for each limit."""

from xml.etree.ElementTree import Element, SubElement, tostring

from reap.base.text import printable
from reap.check import words
from reap.check.records import Check, Judged


def junit(held: Check) -> bytes:
    """The file: a limit that is exceeded is a failure, and one that was not measured an error.

    So is a program that failed, or whose recording cannot be read; inconclusive limits pass.
    """
    unjudged = bool(held.status or (held.missing and not held.judged))
    counts = {
        "tests": str(max(len(held.judged), 1)),
        "failures": str(len(held.exceeded)),
        "errors": str(int(unjudged) + len(held.unmeasured)),
        "time": f"{held.seconds:.3f}",
    }
    suites = Element("testsuites", counts)
    suite = SubElement(suites, "testsuite", {"name": printable(f"reap check: {held.program}"), **counts})
    classname = printable(f"reap.{held.program}")
    if unjudged:
        case = SubElement(suite, "testcase", {"classname": classname, "name": "runs", "time": counts["time"]})
        said = printable(words.summary(held))
        error = SubElement(
            case, "error", {"message": said, "type": "status" if held.status else "not measured"}
        )
        error.text = "\n".join([said, *map(printable, held.missing)])
    for each in held.judged:
        _case(suite, classname, each, [*held.missing, words.advice(held)])
    if held.notes:
        SubElement(suite, "system-out").text = "\n".join(printable(note) for note in held.notes)
    data: bytes = tostring(suites, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _case(suite: Element, classname: str, each: Judged, missing: list[str]) -> None:
    case = SubElement(
        suite, "testcase", {"classname": classname, "name": printable(words.name(each.limit)), "time": "0"}
    )
    said = printable(words.sentence(each))
    if each.verdict == "exceeded":
        failure = SubElement(case, "failure", {"message": said, "type": "exceeded"})
        failure.text = "\n".join([said, *(words.place(place, each.limit.figure) for place in each.places)])
    elif each.verdict == "not measured":
        error = SubElement(case, "error", {"message": said, "type": "not measured"})
        error.text = "\n".join(printable(line) for line in missing if line)
    else:
        SubElement(case, "system-out").text = said
