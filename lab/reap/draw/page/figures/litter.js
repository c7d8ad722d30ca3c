// What a heap is littered with, by size.
(() => {
  const { tip, bars } = figures;

  const litter = (answer, _, colours) => {
    const { sizes: counts } = answer.fragmented.profile;
    const bins = [];
    for (const [size, objects] of counts) {
      const place = size < 2 ? 0 : Math.ceil(Math.log2(size));
      for (let each = bins.length; each <= place; each += 1) bins.push({ high: 2 ** each, objects: 0 });
      bins[place].objects += objects;
    }
    const used = bins.slice(
      Math.max(
        bins.findIndex((bin) => bin.objects > 0),
        0,
      ),
    );
    return {
      height: 300,
      option: bars(
        colours,
        used.map((bin) => `≤ ${format.tick(format.bytes)(bin.high)}`),
        [["objects", used.map((bin) => (bin.objects > 0 ? bin.objects : null)), colours.blue]],
        {
          value: {
            type: "log",
            min: 0.5,
            axisLabel: { formatter: (value) => (value < 1 ? "" : format.tick(format.count)(value)) },
          },
          tip: ([at]) =>
            tip(`up to ${used[at.dataIndex].high} bytes`, [
              ["objects", format.count(used[at.dataIndex].objects)],
            ]),
        },
      ),
      columns: ["size", "objects"],
      rows: counts,
    };
  };

  Object.assign(figures.kinds, { litter });
})();
