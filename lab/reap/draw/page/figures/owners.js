// Memory over time by owner: areas that lie on each other and add up to all of it.
(() => {
  const { stacked, tip, across, trims } = figures;

  // An owner has one colour on every page. What an allocator holds, which is often seen together, has those of
  // Okabe and Ito: apart for every kind of colour vision, on light and on dark.
  const COLOURS = {
    live: "#0072b2",
    inside: "#56b4e9",
    cached: "#b8a800",
    pinned: "#d55e00",
    top: "#e69f00",
    held: "#cc79a7",
    heap: "#5b6c8f",
    zeros: "#c9a0dc",
    lazy_free: "#009e73",
    other: "#8a8f98",
    python: "#2f8f9d",
    v8: "#4f8f3a",
    java: "#a4508b",
    jvm: "#a9b35a",
    go: "#00a6c8",
    go_runtime: "#7fd0e0",
    php: "#6f74c7",
    beam: "#a33b3b",
    data: "#6b4f3a",
    named: "#3f7f5f",
    stack: "#9c7a3c",
    files: "#b9bdc6",
    written: "#8d7f74",
    shared: "#d8b48a",
  };

  const owners = (answer, _, colours) => {
    const { owners: shown, seconds, whole, settled, half, most, longest, trim } = answer;
    const points = ({ bytes }) => bytes.map((size, at) => ({ seconds: seconds[at], bytes: size }));
    const topmost = [...shown].reverse();
    const { height, option } = stacked(
      colours,
      shown.map((owner) => [owner.name, points(owner), COLOURS[owner.part]]),
      topmost.map((owner) => owner.name),
      most,
      longest,
    );
    const parts = (at) => {
      const held = topmost.filter((owner) => owner.bytes[at] > 0);
      const sum = held.reduce((size, owner) => size + owner.bytes[at], 0);
      return [
        [whole, format.bytes(sum)],
        ...held.map((owner) => [owner.name, format.bytes(owner.bytes[at]), COLOURS[owner.part]]),
      ];
    };
    option.tooltip.formatter = ([{ dataIndex: at }]) => tip(format.seconds(seconds[at]), parts(at));
    const level = [
      { coord: [half, settled], name: `settled: ${format.bytes(settled)}` },
      { coord: [seconds.at(-1), settled] },
    ];
    const levels = settled === null ? [] : [level];
    option.series.push(across(colours, [...levels, ...trims(colours, trim, seconds.at(-1))]));
    return {
      height,
      option,
      columns: ["owner", "seconds", "bytes"],
      rows: shown.flatMap((owner) => points(owner).map((point) => [owner.name, point.seconds, point.bytes])),
    };
  };

  Object.assign(figures.kinds, { owners });
})();
