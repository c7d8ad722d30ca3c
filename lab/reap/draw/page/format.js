// Figures as people read them: the only formatter of the scripts. The same text as on the terminal, whose
// formatter is base/units.py; lab/test/base/test_units.py compares the two.
const format = (() => {
  // JSON has no place for what is no number: it arrives as null.
  const known = (value) => Number.isFinite(value);
  const digits = (value) =>
    value >= 100 || value === 0 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
  const scaled = (value, step, units) => {
    if (!known(value)) return "-";
    let rest = Math.abs(value);
    let index = 0;
    while (rest >= 999.5 && index < units.length - 1) {
      rest /= step;
      index += 1;
    }
    const number = index === 0 && Number.isInteger(rest) ? String(rest) : digits(rest);
    return `${value < 0 ? "-" : ""}${number}${units[index]}`;
  };
  const bytes = (value) => scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);
  const whole = (value) => {
    const rounded = value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, " ");
    return rounded === "-0" ? "0" : rounded;
  };
  const count = (value) =>
    known(value) && Math.abs(value) < 10000
      ? whole(value)
      : scaled(value, 1000, ["", " k", " M", " G", " T"]);
  const seconds = (value) => {
    if (!known(value)) return "-";
    if (value === 0) return "0 s";
    if (value < 0) return `-${seconds(-value)}`;
    if (value >= 600) return `${Math.floor(value / 60)} min ${(value % 60).toFixed(0)} s`;
    for (const [scale, unit] of [
      [1, "s"],
      [1e-3, "ms"],
      [1e-6, "µs"],
    ]) {
      if (value >= scale * 0.9995) return `${digits(value / scale)} ${unit}`;
    }
    return `${digits(value / 1e-9)} ns`;
  };
  const percent = (part) => {
    if (!known(part)) return "-";
    const value = part * 100;
    const size = Math.abs(value);
    if (size > 0 && size < 0.05) return "< 0.1 %";
    return `${value.toFixed(value !== 0 && size < 19.95 ? 1 : 0)} %`;
  };
  const ratio = (value) => {
    if (!known(value)) return "-";
    if (value >= 0 && value < 1.9995) return value.toFixed(3);
    return value < 10 ? value.toFixed(2) : digits(value);
  };
  const unit = (value, name) => (({ s: seconds, bytes })[name] ?? count)(value);
  const shorten = (text, most) => {
    if (text.length <= most) return text;
    const head = Math.floor((most - 1) / 2);
    return `${text.slice(0, head)}…${text.slice(text.length - (most - 1 - head))}`;
  };
  // On an axis, 50 MiB and not 50.0 MiB.
  const tick = (show) => (value) =>
    show(value)
      .replace(/(\.\d*?)0+(?= |$)/, "$1")
      .replace(/\.(?= |$)/, "");
  return { tick, bytes, count, seconds, percent, ratio, unit, shorten };
})();
