"""A heap as a picture: one file of SVG that any browser shows."""

from reap.base import units
from reap.draw import svg
from reap.fragment.heap_map import PAGE, HeapCell, HeapMap

_COLUMNS = 64
_SIDE = 10
_SHADES = 8
"""Steps from empty to full."""
_TOP = 56
_LITTER, _PROGRAM, _ROOM = (119, 125, 136), (192, 78, 0), (238, 240, 243)
"""The greys and the orange of the report's page; no meaning hangs on them alone, for the legend counts."""


def draw(heap: HeapMap, title: str) -> str:
    """Two panels: what the littering left, and the same with the program's blocks when it had most.

    A square is a stretch of used pages, by address from left to right and from the top down. The fuller, the
    darker; what is orange is the program's.
    """
    rows = -(-len(heap.cells) // _COLUMNS)
    width, height = _COLUMNS * _SIDE, rows * _SIDE
    pages = heap.cells[0].pages if heap.cells else 0
    used = f"{units.number(pages, 'used page')} of {PAGE} bytes"
    litter, own = units.size(heap.litter_bytes), units.size(heap.program_bytes)
    key = f"each square: {used}; grey: litter that stays ({litter}); orange: the program's ({own})"
    size = f"0 0 {2 * width + 60} {height + _TOP + 70}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" font-family="sans-serif" font-size="14">',
        f"<title>{svg.text(title)}</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="20" y="24" font-size="16">{svg.text(title)}</text>',
        '<text x="20" y="46">after the littering</text>',
        f'<text x="{width + 40}" y="46">with the program\'s blocks, when it has most</text>',
        *_panel(heap, 20, program=False),
        *_panel(heap, width + 40, program=True),
        f'<text x="20" y="{height + _TOP + 24}">{svg.text(key)}</text>',
        f'<text x="20" y="{height + _TOP + 48}">{svg.text(index(heap))}</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def index(heap: HeapMap) -> str:
    """Fragmentation of the heap, in a sentence."""
    return (
        f"{units.count(heap.program_objects)} blocks of the program lie on {units.count(heap.program_pages)} "
        f"pages, which are {units.percent(heap.density)} full of them; all {units.count(heap.pages)} used "
        f"pages are {units.percent(heap.fill)} full; {units.mean(heap.mean_run)} blocks in a row on average, "
        f"{units.count(heap.longest_run)} at most"
    )


def _panel(heap: HeapMap, left: int, *, program: bool) -> list[str]:
    """Its squares, neighbours of one colour as one rectangle."""
    lines = []
    for row in range(0, len(heap.cells), _COLUMNS):
        colours = [_colour(cell, program=program) for cell in heap.cells[row : row + _COLUMNS]]
        at = 0
        while at < len(colours):
            end = at
            while end < len(colours) and colours[end] == colours[at]:
                end += 1
            lines.append(
                f'<rect x="{left + at * _SIDE}" y="{_TOP + row // _COLUMNS * _SIDE}" '
                f'width="{(end - at) * _SIDE}" height="{_SIDE}" fill="{colours[at]}"/>'
            )
            at = end
    return lines


def _colour(cell: HeapCell, *, program: bool) -> str:
    room = cell.pages * PAGE
    shares = [_step(cell.litter / room), _step(cell.program / room) if program else 0.0]
    left = max(1 - sum(shares), 0.0)
    mixed = (
        round(litter * shares[0] + own * shares[1] + empty * left)
        for litter, own, empty in zip(_LITTER, _PROGRAM, _ROOM, strict=True)
    )
    return "#" + "".join(f"{min(each, 255):02x}" for each in mixed)


def _step(share: float) -> float:
    """Rounded to a shade, and never to none where there is something."""
    return max(round(min(share, 1) * _SHADES), 1 if share > 0 else 0) / _SHADES
