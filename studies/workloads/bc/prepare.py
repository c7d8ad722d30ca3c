"""Makes primes.bc: a program of bc. Always the same for one scale."""

import sys
from pathlib import Path

PROGRAM = """\
define p(n) {
    auto c, d, s, r
    for (c = 3; n > 1; c += 2) {
        s = scale; scale = 0
        r = 1
        for (d = 3; d * d <= c; d += 2) { if (c % d == 0) { r = 0; break; } }
        if (r) { n -= 1; l = c; }
        scale = s
    }
    return (l)
}
p(COUNT)
scale = PLACES
e(1)
quit
"""


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    text = PROGRAM.replace("COUNT", str(scale * 100)).replace("PLACES", str(scale * 50))
    (folder / "primes.bc").write_text(text, encoding="ascii")


main()
