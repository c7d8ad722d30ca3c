"""The machine as a page names it."""

from reap.base import units
from reap.base.text import printable
from reap.launch.records import Machine


def machine_rows(machine: Machine) -> list[tuple[str, str]]:
    """The machine, a row a fact; what is not known is left out."""
    rows = [
        ("Processor", f"{machine.processor}, {units.many(machine.cores, 'core')} usable"),
        ("Memory", units.size(machine.memory)),
        ("System", machine.system),
        ("Kernel", machine.kernel),
        ("C library", machine.libc),
        ("Virtual machine", machine.virtual),
        ("Transparent huge pages", machine.huge_pages),
    ]
    return [(name, printable(value)) for name, value in rows if value]
