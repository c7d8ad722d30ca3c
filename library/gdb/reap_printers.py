"""What gdb shows of Reap's layers: what statistics() would say, read from memory alone.

    (gdb) python import sys; sys.path.insert(0, "/usr/local/share/reap/gdb"); import reap_printers
    (gdb) print region
    $1 = reap::Region = {held = 8192, used = 128, spare = 0, chunks = 1, large_objects = 0}

Nothing in the program is called or changed, so a core file will do. Where lists cannot be followed, since the
layer was not made yet or was written over, what is found is `damaged`. Costs time in the number of chunks.
"""

from collections.abc import Callable, Iterator

import gdb
import gdb.printing

Figures = dict[str, int]
# gdb wants an iterator of pairs: the child's name, and a value of its own or of Python's.
Child = tuple[str, "gdb.Value | int | str"]


class DamagedError(Exception):
    """A list goes in circles, or one of its links was written over."""


def chain(first: gdb.Value, link: str) -> Iterator[gdb.Value]:
    """Records from a pointer to one, along the member `link`."""
    seen = set()
    record = first
    while int(record) != 0:
        if int(record) in seen:
            raise DamagedError(f"the list of {record.type.target().tag} goes in circles")
        seen.add(int(record))
        yield record.dereference()
        record = record.dereference()[link]


def encoded_chain(layer: gdb.Value, first: gdb.Value) -> Iterator[gdb.Value]:
    """Records from a pointer to one, along their first member, `next`: a link of the layer's `links_`."""
    if mode_of(layer) != "hardened":
        yield from chain(first, "next")
        return
    links = layer["links_"]
    secret, low, high = (int(links[name]) for name in ("secret_", "low_", "high_"))
    seen = set()
    address = int(first)
    while address != 0:
        if address % 8 != 0 or not low <= address < high:
            raise DamagedError(f"a link of the list of {first.type.target().tag} was written over")
        if address in seen:
            raise DamagedError(f"the list of {first.type.target().tag} goes in circles")
        seen.add(address)
        yield gdb.Value(address).cast(first.type).dereference()
        # bswap(next ^ own address ^ secret)
        (word,) = words_at(address, 1)
        address = int.from_bytes(word.to_bytes(8, "big"), "little") ^ address ^ secret


def waiting(layer: gdb.Value) -> int:
    """How many freed blocks are in quarantine."""
    quarantine = layer["quarantine_"]
    if not any(field.name == "blocks_" for field in quarantine.type.strip_typedefs().fields()):
        return 0
    blocks = quarantine["blocks_"]
    return sum(word != 0 for word in words_at(int(blocks.address), blocks.type.sizeof // 8))


def in_quarantine(layer: gdb.Value) -> Figures:
    """A figure that hardened mode alone has."""
    return {"waiting": waiting(layer)} if mode_of(layer) == "hardened" else {}


def size_of(pointer: gdb.Value) -> int:
    """How large what a pointer is declared to point to is."""
    return int(pointer.type.strip_typedefs().target().strip_typedefs().sizeof)


def distance(first: gdb.Value, last: gdb.Value) -> int:
    """Bytes between two pointers of any type."""
    return int(last) - int(first)


def round_up(size: int, unit: int) -> int:
    """The next multiple."""
    return -(-size // unit) * unit


def words_at(address: int, count: int) -> Iterator[int]:
    """So many words of 64 bits."""
    memory = gdb.selected_inferior().read_memory(address, 8 * count).tobytes()
    for at in range(0, 8 * count, 8):
        yield int.from_bytes(memory[at : at + 8], "little")


def chunks_of(layer: gdb.Value, size: str, link: str = "older") -> Figures:
    """What layers have that keep chunks on two lists, `chunk_` and `spare_`."""
    spare = [int(chunk[size]) for chunk in chain(layer["spare_"], link)]
    used = [int(chunk[size]) for chunk in chain(layer["chunk_"], link)]
    return {"used": sum(used), "spare": sum(spare), "chunks": len(used) + len(spare)}


def region(layer: gdb.Value) -> Figures:
    """As Region::statistics()."""
    held = int(layer["held_"])
    found = chunks_of(layer, "size")
    return {
        "held": held,
        "used": held - found["spare"] - distance(layer["current_"], layer["end_"]),
        "spare": found["spare"],
        "chunks": found["chunks"],
        "large_objects": sum(1 for _ in chain(layer["large_"], "older")),
    }


def obstack(layer: gdb.Value) -> Figures:
    """As Obstack::statistics()."""
    held = int(layer["held_"])
    found = chunks_of(layer, "size")
    grows = int(layer["limit_"]) != 0
    room = distance(layer["top_"], layer["limit_"]) if grows else distance(layer["current_"], layer["end_"])
    used = held - found["spare"] - room
    return {"held": held, "used": used, "spare": found["spare"], "chunks": found["chunks"]}


def reap(layer: gdb.Value) -> Figures:
    """As Reap::statistics(), without the largest hole."""
    found = chunks_of(layer, "size")
    chunks = list(chain(layer["chunk_"], "older"))
    rare, reuse = layer["rare_"], layer["reuse_"]
    free = distance(layer["current_"], layer["end_"])
    large = []
    if int(rare) != 0:
        free += int(rare["free_bytes"])
        large = [int(header["size"]) for header in chain(rare["large"], "older")]
    if int(reuse) != 0:
        free += int(reuse["bytes"])
    lead = len(chunks) * size_of(layer["chunk_"])
    # In plain mode the oldest chunk keeps room at its end, in the others the reap does.
    if chunks and mode_of(layer) == "":
        lead += round_up(size_of(rare) + size_of(reuse), 16)
    return {
        "held": int(layer["held_"]),
        "live": found["used"] - lead - free + sum(large),
        "free": free,
        "spare": found["spare"],
        "chunks": found["chunks"],
        "large_objects": len(large),
        **in_quarantine(layer),
    }


def fixed_block(layer: gdb.Value) -> Figures:
    """As FixedBlock::statistics(), and the size of a block."""
    found = chunks_of(layer, "size")
    live = int(layer["slabs_"]) * int(layer["capacity_"])
    live -= distance(layer["run_"], layer["run_end_"]) // int(layer["stride_"])
    live -= distance(layer["magazine_"].address, layer["top_"]) // size_of(layer["top_"])
    live -= sum(int(slab["free"]) for slab in encoded_chain(layer, layer["available_"]))
    live -= waiting(layer)
    return {
        "block_size": int(layer["block_size_"]),
        "held": int(layer["held_"]),
        "live": live,
        "spare": found["spare"],
        "chunks": found["chunks"],
        **in_quarantine(layer),
    }


def mempool(layer: gdb.Value) -> Figures:
    """As Mempool::statistics()."""
    found = chunks_of(layer, "bytes", "older_chunk")
    return {
        "held": found["used"] + found["spare"],
        "live": sum(word.bit_count() for _, words in live_words(layer) for word in words),
        "spare": found["spare"],
        "chunks": found["chunks"],
        **in_quarantine(layer),
    }


def size_classes(layer: gdb.Value) -> Figures:
    """As SizeClassAllocator::statistics()."""
    pools = [fixed_block(pool) for pool in elements(layer["pools_"])]
    return {"held": sum(pool["held"] for pool in pools), "live": sum(pool["live"] for pool in pools)}


def elements(array: gdb.Value) -> Iterator[gdb.Value]:
    """The elements of an array."""
    first, last = array.type.strip_typedefs().range()
    for at in range(first, last + 1):
        yield array[at]


def mode_of(layer: gdb.Value) -> str:
    """How a layer was built, checked or hardened; nothing of plain mode. Its namespace tells."""
    space = layer.type.strip_typedefs().tag.split("::")[1]
    return next((mode for mode in ("checked", "hardened") if space.startswith(f"v0_{mode}")), "")


def live_words(layer: gdb.Value) -> Iterator[tuple[gdb.Value, list[int]]]:
    """The blocks of a Mempool, each with its bitmap of live objects."""
    count = int(layer["layout_"]["words"])
    for block in chain(layer["newest_"], "older"):
        yield block, list(words_at(int(block.address) + block.type.sizeof, count))


def objects(layer: gdb.Value) -> Iterator[gdb.Value]:
    """The live objects of a Mempool, in the order in which it walks over them."""
    kind = layer.type.strip_typedefs().template_argument(0)
    # The least that a place takes is a link.
    alignment, size, lead = max(kind.alignof, 8), max(kind.sizeof, 8), 0
    if mode_of(layer) == "checked":
        alignment = max(kind.alignof, 16)
        space = layer.type.strip_typedefs().tag.split("::")[1]
        lead = round_up(gdb.lookup_type(f"reap::{space}::guard::detail::Header").sizeof, alignment)
        size = lead + kind.sizeof + 16  # the zone behind the object
    place = round_up(size, alignment)
    unit = 1 << (place.bit_length() - 1)
    first = int(layer["layout_"]["first"]) + lead
    for block, words in live_words(layer):
        for bit in (64 * at + bit for at, word in enumerate(words) for bit in range(64) if word >> bit & 1):
            number = (bit * unit + place - 1 - first) // place
            address = gdb.Value(int(block.address) + first + number * place)
            yield address.cast(kind.pointer()).dereference()


def each_object(layer: gdb.Value) -> Iterator[Child]:
    """Live objects by number, as far as `set print elements` goes."""
    for number, live in enumerate(objects(layer)):
        yield f"[{number}]", live


def each_class(layer: gdb.Value) -> Iterator[Child]:
    """The pools of a SizeClassAllocator."""
    for pool in elements(layer["pools_"]):
        yield f"[{int(pool['block_size_'])}]", pool


def nothing(_layer: gdb.Value) -> Iterator[Child]:
    """For layers of which nothing is known but figures."""
    yield from ()


class Printer:
    """A layer as its figures, and what is in it."""

    def __init__(
        self,
        name: str,
        layer: gdb.Value,
        figures: Callable[[gdb.Value], Figures],
        contents: Callable[[gdb.Value], Iterator[Child]],
    ) -> None:
        self._name = name
        is_reference = layer.type.strip_typedefs().code in {gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF}
        self._layer = layer.referenced_value() if is_reference else layer
        self._figures = figures
        self._contents = contents

    def to_string(self) -> str:
        """What gdb prints in front of the figures."""
        mode = mode_of(self._layer)
        return f"reap::{self._name}" + (f" ({mode})" if mode else "")

    def children(self) -> Iterator[Child]:
        """What gdb prints in braces."""
        try:
            yield from self._figures(self._layer).items()
            yield from self._contents(self._layer)
        except (DamagedError, gdb.error) as error:  # of which gdb.MemoryError is one
            yield "damaged", str(error)


LAYERS = {
    "Region": (region, nothing),
    "Obstack": (obstack, nothing),
    "Reap": (reap, nothing),
    "FixedBlock": (fixed_block, nothing),
    "SizeClassAllocator": (size_classes, each_class),
    "Mempool": (mempool, each_object),
}


def printers() -> gdb.printing.RegexpCollectionPrettyPrinter:
    """All printers of this file, of whatever mode the program's layers are."""
    all_printers = gdb.printing.RegexpCollectionPrettyPrinter("reap")
    for name, (figures, contents) in LAYERS.items():

        def make(
            layer: gdb.Value,
            name: str = name,
            figures: Callable[[gdb.Value], Figures] = figures,
            contents: Callable[[gdb.Value], Iterator[Child]] = contents,
        ) -> Printer:
            return Printer(name, layer, figures, contents)

        all_printers.add_printer(name, rf"^reap::v0\w*::{name}<.*>$", make)
    return all_printers


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
