// Objects by size.
(() => {
  const { tip, bars } = figures;

  const sizes = (answer, _, colours) => {
    const bins = answer.profile.sizes;
    const used = bins.slice(0, bins.findLastIndex((bin) => bin.objects > 0) + 1);
    const positive = (value) => (value > 0 ? value : null); // a log scale has no place for 0
    return {
      height: 320,
      option: bars(
        colours,
        used.map((bin) => `≤ ${format.tick(format.bytes)(bin.high)}`),
        [
          ["objects", used.map((bin) => positive(bin.objects)), colours.blue],
          ["bytes", used.map((bin) => positive(bin.bytes)), colours.orange],
        ],
        {
          value: {
            type: "log",
            min: 0.5,
            axisLabel: { formatter: (value) => (value < 1 ? "" : format.tick(format.count)(value)) },
          },
          tip: ([at]) => {
            const bin = used[at.dataIndex];
            return tip(`${bin.low} to ${bin.high} bytes`, [
              ["objects", format.count(bin.objects)],
              ["bytes", format.bytes(bin.bytes)],
            ]);
          },
        },
      ),
      columns: ["from bytes", "to bytes", "objects", "bytes"],
      rows: bins.map((bin) => [bin.low, bin.high, bin.objects, bin.bytes]),
    };
  };

  Object.assign(figures.kinds, { sizes });
})();
