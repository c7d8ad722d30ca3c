"""Makes a circuit of gates, and has graywolf lay out its rows. Always the same for one scale."""

import random
import subprocess
import sys
from pathlib import Path

INPUTS, OUTPUTS, NEAR = 8, 8, 60
PITCH, HEIGHT = 160, 2000
"""Of the tracks and of a row, in hundredths of a micron."""
PARAMETERS = """\
RULES
layer metal1 0.07 0.030 horizontal
layer metal2 0.07 0.017 vertical
via via12 metal1 metal2
width metal1 60
width metal2 60
width via12 60
spacing metal1 metal1 140
spacing metal2 metal2 100
overhang via12 metal1 8
overhang via12 metal2 6
ENDRULES
*vertical_wire_weight : 1.0
*vertical_path_weight : 1.0
*padspacing : variable
*rowSep : 0.0 0
*track.pitch : 160
*minimum_pad_space : 240
*gridX : 160
*gridY : 200
*gridOffsetX : 0
*gridOffsetY : 0
*graphics.wait : off
*last_chance.wait : off
*random.seed : 12345
TWMC*chip.aspect.ratio : 0.75
TWSC*feedThruWidth : 160 layer 1
TWSC*do.global.route : on
TWSC*ignore_feeds : true
TWSC*call_row_evener : true
TWSC*even_rows_maximally : true
GENR*row_to_tile_spacing: 1
GENR*flip_alternate_rows : 1
"""


def circuit(gates: int) -> list[str]:
    """Gates of one to three inputs, most of which come from gates that are near."""
    chance = random.Random(20021104)  # noqa: S311 - no secret
    nets, lines = [f"in{number}" for number in range(INPUTS)], []
    for number in range(gates):
        inputs = chance.randint(1, 3)
        half = PITCH * (inputs + 1)
        lines.append(f"cell {number + 1} GATE{inputs}_{number + 1}")
        lines.append(f"left {-half} right {half} bottom {-HEIGHT // 2} top {HEIGHT // 2}")
        near = nets[-NEAR:] if chance.random() < 0.9 else nets
        for pin in range(inputs):
            at = PITCH * (2 * pin + 1) - half
            lines.append(f"pin name I{pin} signal {chance.choice(near)} layer 1 {at} -200")
        lines.append(f"pin name O signal net{number} layer 1 {half - PITCH} 200")
        nets.append(f"net{number}")
    for number, net in enumerate([*nets[:INPUTS], *nets[-OUTPUTS:]], 1):
        lines.append(f"pad {number} name twpin_{net}")
        lines.append("corners 4 -80 -100 -80 100 80 100 80 -100")
        lines.append(f"pin name twpin_{net} signal {net} layer 1 0 0")
    return lines


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    (folder / "circuit.cel").write_text("\n".join(circuit(scale * 100)) + "\n", encoding="ascii")
    (folder / "circuit.par").write_text(PARAMETERS, encoding="ascii")
    done = subprocess.run(
        ["graywolf", "-n", "circuit"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(done.stdout[-500:] + done.stderr[-500:])
    for path in folder.iterdir():
        if path.suffix not in (".blk", ".par", ".scel"):
            path.unlink()


main()
