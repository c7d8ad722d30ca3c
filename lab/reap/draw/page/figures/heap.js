// A heap as two maps: what the littering left, and the same with the program's blocks when it had most. A square
// is a stretch of used pages, by address from left to right and from the top down; the fuller, the darker.
(() => {
  const { base, tip, axis } = figures;
  const COLUMNS = 64;
  const PAGE = 4096;
  // Steps from empty to full.
  const SHADES = 8;

  // Rounded to a shade, and never to none where there is something.
  const step = (share) => Math.max(Math.round(Math.min(share, 1) * SHADES), share > 0 ? 1 : 0) / SHADES;

  const heap = (answer, _, colours) => {
    const { cells } = answer;
    const narrow = window.innerWidth < 1040;
    const side = narrow ? (window.innerWidth < 380 ? 4 : 5) : 7;
    const [wide, high] = [COLUMNS * side, Math.ceil(cells.length / COLUMNS) * side];
    const maps = ["after the littering", "at the program's peak"];
    const left = (map) => (narrow ? 0 : map * (wide + 40));
    const top = (map) => 24 + (narrow ? map * (high + 40) : 0);
    const layer = (map, colour, of) => ({
      type: "scatter",
      symbol: "rect",
      symbolSize: side,
      xAxisIndex: map,
      yAxisIndex: map,
      emphasis: { disabled: true },
      data: cells.map((cell, at) => ({
        value: [at % COLUMNS, Math.floor(at / COLUMNS)],
        itemStyle: { color: colour, opacity: of(cell) },
      })),
    });
    const share = (bytes, cell) => step(bytes / (cell.pages * PAGE));
    const litter = (cell) => share(cell.litter, cell);
    const program = (cell) => share(cell.program, cell);
    const empty = () => 0.35;
    const hidden = { type: "value", show: false, min: -0.5 };
    return {
      height: top(1) + high + 8,
      fixed: true,
      option: {
        ...base(colours),
        title: maps.map((text, map) => ({
          text,
          left: left(map),
          top: top(map) - 24,
          textStyle: { color: colours.ink, fontSize: 13, fontWeight: 600 },
        })),
        grid: maps.map((_name, map) => ({ left: left(map), top: top(map), width: wide, height: high })),
        xAxis: maps.map((_name, map) => axis(colours, { ...hidden, gridIndex: map, max: COLUMNS - 0.5 })),
        yAxis: maps.map((_name, map) =>
          axis(colours, { ...hidden, gridIndex: map, max: high / side - 0.5, inverse: true }),
        ),
        tooltip: {
          ...base(colours).tooltip,
          formatter: ({ dataIndex: at }) =>
            tip(`${cells[at].pages} used pages`, [
              ["litter", format.bytes(cells[at].litter), colours.grey],
              ["the program's", format.bytes(cells[at].program), colours.orange],
            ]),
        },
        series: [
          ...maps.flatMap((_name, map) => [
            layer(map, colours.line, empty),
            layer(map, colours.grey, litter),
          ]),
          layer(1, colours.orange, program),
        ],
      },
      columns: ["pages", "litter", "program"],
      rows: cells.map((cell) => [cell.pages, cell.litter, cell.program]),
    };
  };

  Object.assign(figures.kinds, { heap });
})();
