// Flame graphs of whole stacks, drawn by d3-flame-graph: what to show, inverted or not, search, keys, themes.
// The chart is given as many boxes as a screen has room for; see stacks.js.
// Names of functions are those of the measured program: they reach the document as text and attributes alone.
const flames = (() => {
  const drawn = [];

  const samples = (count) => `${format.count(count)} sample${count === 1 ? "" : "s"}`;
  const show = { bytes: format.bytes, peak: format.bytes, "live-at-exit": format.bytes, samples };

  // Boxes that a chart has at once: each is some elements, which take a browser about 50 µs.
  const MOST = 1000;

  // Hues of the functions of one owner; those of nobody in particular are red to yellow.
  const HUES = { "the allocator's": 205, "the kernel's": 262 };

  // The same function has the same colour everywhere; words stay legible on it in both themes.
  const colour = (name, owner, dark) => {
    let hash = 0;
    for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
    const [hue, light] = [(HUES[owner] ?? 18) + (hash % 30), ((hash >>> 8) % 10) - 5];
    return dark ? `hsl(${hue} 45% ${30 + light}%)` : `hsl(${hue} 80% ${76 + light}%)`;
  };

  // Red for more and blue for less, stronger the nearer a change is to the largest; grey for none.
  const compared = (delta, largest, dark) => {
    if (delta === 0 || largest === 0) return dark ? "hsl(0 0% 28%)" : "hsl(0 0% 90%)";
    const [hue, part] = [delta > 0 ? 4 : 214, Math.sqrt(Math.min(1, Math.abs(delta) / largest))];
    return dark ? `hsl(${hue} 60% ${24 + 14 * part}%)` : `hsl(${hue} 85% ${94 - 24 * part}%)`;
  };

  // Nothing moves: a transition, even one of no time, costs a timer for each box.
  const still = function () {
    return this;
  };

  const attach = (figure, isDark) => {
    const answer = reapReport.report.answers[Number(figure.dataset.answer)];
    const { compared: part, folded } = figure.dataset;
    const held = folded ? stacks.unfold(answer[folded]) : (answer[part] ?? answer).flame;
    const find = (selector) => figure.querySelector(selector);
    const motion = d3.selection.prototype;
    Object.assign(motion, { transition: still, duration: still, ease: still, delay: still });
    const [boxes, measure, inverted] = [find(".boxes"), find(".measure"), find(".inverted")];
    const [search, found, pointed, closed] = [
      find(".search"),
      find(".found"),
      find(".pointed"),
      find(".closed"),
    ];
    const [earlier, hide, upwards, thread] = [
      find(".earlier"),
      find(".hide"),
      find(".upwards"),
      find(".thread"),
    ];
    const span = { from: 0, to: held.slices?.count ?? 0 };
    let own = [];
    let hidden = new Set();
    let hits = new Set();
    let whole = 0;
    let largest = 0;
    let graph = null;
    let focus = null;

    const measured = () => measure?.value ?? "samples";
    const said = ({ name, value, delta }) => {
      const shown = show[measured()] ?? format.count;
      const owner = held.owners?.get(name);
      const whose = owner ? ` (${owner})` : "";
      const share = `${name}${whose}: ${format.percent(whole > 0 ? value / whole : 0)} (${shown(value)})`;
      if (held.own) return share;
      return `${share}, ${delta === 0 ? "unchanged" : `${delta > 0 ? "+" : "-"}${shown(Math.abs(delta))}`}`;
    };
    const chart = flamegraph
      .default()
      .width(boxes.clientWidth)
      .cellHeight(20)
      .inverted(true)
      .transitionDuration(0)
      .minFrameSize(0.5)
      .resetHeightOnZoom(true)
      .setLabelHandler((node) => said(node.data))
      .setDetailsHandler((text) => {
        pointed.textContent = text ?? (focus.parent ? said(focus) : "");
      })
      .setColorMapper((node) => {
        const { name, delta } = node.data;
        if (hits.has(name)) return figures.css("--ink");
        return held.own ? colour(name, held.owners?.get(name), isDark()) : compared(delta, largest, isDark());
      });

    const frames = () => [...boxes.querySelectorAll("g.frame")];
    const boxOf = (frame) => d3.select(frame).datum();
    const frameOf = (box) => frames().find((frame) => boxOf(frame) === box);

    // What was allocated in the whole time by all threads is in the data; parts of it are added up.
    const widths = () => {
      const of = thread?.value ?? "";
      if (held.slices && (of !== "" || span.from > 0 || span.to < held.slices.count)) {
        return slices.own(held.slices, held.parents.length, measured(), span.from, span.to, of);
      }
      return (held.own ?? (earlier?.checked ? held.before : held.after))[measured()];
    };

    // One box can be reached by the Tab key, the others from there by arrow keys.
    const tidy = () => {
      const all = frames();
      const rows = 1 + Math.max(0, ...all.map((frame) => boxOf(frame).depth));
      const svg = boxes.querySelector("svg");
      // From the bottom up, the library leaves rows free above the highest box.
      const free = chart.inverted() ? 0 : Number(svg.getAttribute("height")) - rows * chart.cellHeight();
      if (chart.inverted()) svg.setAttribute("height", String(rows * chart.cellHeight()));
      svg.style.marginTop = `${-free}px`;
      const reached = all.find((frame) => frame === document.activeElement) ?? all[0];
      for (const frame of all) {
        const { data } = boxOf(frame);
        frame.setAttribute("role", "button");
        frame.setAttribute("aria-label", said(data));
        frame.setAttribute("tabindex", frame === reached ? "0" : "-1");
        frame.classList.toggle("hit", hits.has(data.name));
      }
    };

    // A box as wide as the figure. The library's own zoom would draw all that is inside.
    const zoom = (box) => {
      const focused = boxes.contains(document.activeElement);
      focus = box;
      const { data, narrow } = stacks.drawn(graph, focus, boxes.clientWidth, MOST);
      pointed.textContent = focus.parent ? said(focus) : "";
      closed.textContent = narrow
        ? `Boxes narrower than ${narrow.toFixed(1)} pixels are closed; zoom into one to see what is inside.`
        : "";
      if (boxes.firstChild) chart.update(data);
      else d3.select(boxes).datum(data).call(chart);
      tidy();
      const begin = boxes.querySelector("g.frame[tabindex='0']");
      if (focused)
        go(
          begin,
          frames()
            .map(boxOf)
            .find((node) => node.data.box === focus),
        );
    };

    const draw = () => {
      hidden = new Set(hide?.checked ? held.runtime : []);
      own = widths();
      const changes = own.map((_, node) =>
        held.own ? 0 : held.after[measured()][node] - held.before[measured()][node],
      );
      graph = stacks.graph(held, own, changes, inverted.checked, hidden);
      whole = graph.top.value;
      largest = stacks.largest(held, changes);
      mark();
      zoom(graph.top);
    };

    const mark = () => {
      const word = search.value;
      const { names, value } = word ? stacks.search(held, own, hidden, word) : { names: new Set(), value: 0 };
      const share = format.percent(whole > 0 ? value / whole : 0);
      found.textContent = word ? `${names.size} function${names.size === 1 ? "" : "s"}, ${share}` : "";
      hits = names;
    };

    const look = () => {
      mark();
      chart.update();
      tidy();
    };

    const reset = () => zoom(graph.top);

    const go = (from, to) => {
      const frame = to && frameOf(to);
      if (!frame) return;
      from.setAttribute("tabindex", "-1");
      frame.setAttribute("tabindex", "0");
      frame.focus();
    };
    const beside = (box, step) => box.parent?.children[box.parent.children.indexOf(box) + step];
    boxes.addEventListener("keydown", (event) => {
      const frame = event.target.closest("g.frame");
      if (!frame) return;
      const box = boxOf(frame);
      const moves = {
        ArrowDown: () => go(frame, box.children?.[0]),
        ArrowUp: () => go(frame, box.parent),
        ArrowRight: () => go(frame, beside(box, 1)),
        ArrowLeft: () => go(frame, beside(box, -1)),
        Home: () => go(frame, boxOf(frames()[0])),
        Enter: () => zoom(box.data.box),
        " ": () => zoom(box.data.box),
        Escape: reset,
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    });
    boxes.addEventListener("focusin", (event) => {
      const frame = event.target.closest("g.frame");
      if (frame) pointed.textContent = said(boxOf(frame).data);
    });
    boxes.addEventListener(
      "click",
      (event) => {
        event.stopPropagation();
        const frame = event.target.closest("g.frame");
        if (frame) zoom(boxOf(frame).data.box);
      },
      true,
    );

    inverted.addEventListener("change", draw);
    for (const each of [measure, earlier, hide, thread]) each?.addEventListener("change", draw);
    upwards?.addEventListener("change", () => {
      chart.inverted(!upwards.checked);
      draw();
    });
    search.addEventListener("input", look);
    find(".reset").addEventListener("click", reset);
    draw();
    const markSpan = held.slices
      ? brush.attach(find(".span"), reapReport.charts[figure.dataset.time], held.slices, (from, to) => {
          Object.assign(span, { from, to });
          draw();
        })
      : null;
    new ResizeObserver(() => {
      if (boxes.clientWidth === chart.width() || boxes.clientWidth === 0) return;
      chart.width(boxes.clientWidth);
      zoom(focus);
    }).observe(boxes);
    drawn.push(() => {
      markSpan?.();
      chart.update();
      tidy();
    });
  };

  // With the colours of the theme as it is now.
  const redraw = () => {
    for (const each of drawn) each();
  };
  return { attach, redraw };
})();
