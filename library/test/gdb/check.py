"""Run by gdb in library-gdb-*: whether the printers show what the layers in layers.cpp say of themselves.

An exception ends this script, and gdb goes on to the next of its commands, `quit 1`.
"""

import sys

import gdb

NOT_RUN = 77
# What statistics() has, and printers do not show.
LEFT_OUT = {"largest_hole"}


def shown(name: str) -> tuple[str, dict]:
    """The title and the children of a variable."""
    printer = gdb.default_visualizer(gdb.parse_and_eval(name))
    assert printer is not None, f"{name} has no printer"
    return printer.to_string(), dict(printer.children())


def check_figures(mode: str) -> None:
    variables = [symbol.name for symbol in gdb.selected_frame().block() if symbol.is_variable]
    names = [name.removeprefix("said_") for name in variables if name.startswith("said_")]
    assert len(names) > 15, names
    titles = set()
    for name in names:
        title, children = shown(name)
        titles.add(title)
        assert title == f"reap::{title.split('::')[1].split(' ')[0]}{mode}", title
        said = gdb.parse_and_eval(f"said_{name}")
        for field in said.type.strip_typedefs().fields():
            if field.name in LEFT_OUT:
                continue
            assert children[field.name] == int(said[field.name]), (name, field.name, children, str(said))
    assert len(titles) == 6, titles


def check_objects() -> None:
    _, points = shown("mempool_points")
    found = sorted((int(points[f"[{at}]"]["x"]), int(points[f"[{at}]"]["y"])) for at in range(5))
    assert found == [(at, -at) for at in range(7, 500, 100)], found
    assert "[5]" not in points
    _, wide = shown("mempool_wide")
    letters = sorted(chr(int(wide[f"[{at}]"]["letter"])) for at in range(26))
    assert "".join(letters) == "abcdefghijklmnopqrstuvwxyz", letters


def check_text(mode: str) -> None:
    text = gdb.execute("print region_empty", to_string=True)
    assert f"= reap::Region{mode} = {{held = " in text, text
    text = gdb.execute("print classes", to_string=True)
    assert f"[32] = reap::FixedBlock{mode} = {{block_size = 32, held = " in text, text
    assert "[256] = " in text, text
    # What is behind a pointer or a reference, and in another object, is shown as well.
    assert "spare = 0" in gdb.execute("print *&reap_used", to_string=True)
    assert f"reap::Region{mode} = " in gdb.execute("print region_nested", to_string=True)


def check_quarantine(mode: str) -> None:
    for name, freed in (
        ("reap_freed", 667),
        ("block_used", 250),
        ("mempool_points", 495),
        ("region_used", None),
    ):
        waiting = shown(name)[1].get("waiting")
        expected = min(freed, 16) if mode == " (hardened)" and freed is not None else None
        assert waiting == expected, (name, waiting)


def check_damage(space: str, mode: str) -> None:
    gdb.execute("set var region_kept.chunk_->older = region_kept.chunk_")
    assert "goes in circles" in shown("region_kept")[1]["damaged"]
    gdb.execute(f"set var region_used.chunk_ = ({space}detail::RegionState::Chunk *)16")
    assert "Cannot access memory" in shown("region_used")[1]["damaged"]
    gdb.execute("set var block_used.available_->next = block_used.available_")
    damaged = "was written over" if mode == " (hardened)" else "goes in circles"
    assert damaged in shown("block_used")[1]["damaged"]


gdb.execute("set confirm off")
gdb.execute("set debuginfod enabled off")
gdb.execute("set python print-stack full")
gdb.execute("break stop")
try:
    gdb.execute("run")
except gdb.error as error:  # a container may forbid to trace
    print(f"the program cannot be run under gdb here: {error}", file=sys.stderr)
    gdb.execute(f"quit {NOT_RUN}")
gdb.execute("up")
tag = gdb.parse_and_eval("region_empty").type.strip_typedefs().tag
namespace = tag.split("Region<")[0]
mode = next((f" ({mode})" for mode in ("checked", "hardened") if f"v0_{mode}" in namespace), "")
check_figures(mode)
check_objects()
check_text(mode)
check_quarantine(mode)
check_damage(namespace, mode)
print("the printers show what the layers say")
gdb.execute("quit 0")
