// Objects by lifetime.
(() => {
  const { tip, bars } = figures;

  const lifetimes = (answer, _, colours) => {
    const bins = answer.profile.lifetimes;
    const all = { objects: 0, bytes: 0 };
    for (const bin of bins) {
      all.objects += bin.objects;
      all.bytes += bin.bytes;
    }
    const part = (bin, what) => (all[what] > 0 ? bin[what] / all[what] : 0);
    const label = (bin) => (bin.high === null ? "never freed" : `< ${format.tick(format.seconds)(bin.high)}`);
    return {
      height: 320,
      option: bars(
        colours,
        bins.map(label),
        [
          ["objects", bins.map((bin) => part(bin, "objects")), colours.blue],
          ["bytes", bins.map((bin) => part(bin, "bytes")), colours.orange],
        ],
        {
          value: { type: "value", axisLabel: { formatter: format.tick(format.percent) } },
          tip: ([at]) => {
            const bin = bins[at.dataIndex];
            const span =
              bin.high === null ? "never freed" : `${format.seconds(bin.low)} to ${format.seconds(bin.high)}`;
            return tip(span, [
              ["objects", `${format.count(bin.objects)} (${format.percent(part(bin, "objects"))})`],
              ["bytes", `${format.bytes(bin.bytes)} (${format.percent(part(bin, "bytes"))})`],
            ]);
          },
        },
      ),
      columns: ["from seconds", "to seconds (empty: never freed)", "objects", "bytes"],
      rows: bins.map((bin) => [bin.low, bin.high, bin.objects, bin.bytes]),
    };
  };

  Object.assign(figures.kinds, { lifetimes });
})();
