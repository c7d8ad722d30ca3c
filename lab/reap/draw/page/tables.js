// Tables that can be sorted by their columns and filtered by a word. A row may have a second row of details.
const tables = (() => {
  const sort = (table, index, header) => {
    const down = header.getAttribute("aria-sort") !== "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[index];
      return cell.dataset.value === undefined
        ? cell.textContent.trim().toLowerCase()
        : Number(cell.dataset.value);
    };
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };

  const filter = (table, word, status) => {
    const wanted = word.trim().toLowerCase();
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    status.textContent = wanted ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
  };

  // The rows that are shown, in their order: of the first cell its name and place, of the others the numbers.
  const asCsv = (table) => {
    const [first, ...others] = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    const lines = [...table.tBodies[0].rows].filter((row) => !row.hidden);
    const text = (row, selector) => row.querySelector(selector)?.textContent ?? "";
    return data.csv([
      [first, "Place", ...others],
      ...lines.map((row) => [
        text(row, ".name"),
        text(row, ".place"),
        ...[...row.cells].slice(1).map((cell) => Number(cell.dataset.value)),
      ]),
    ]);
  };

  const attach = (box) => {
    const table = box.querySelector("table");
    for (const [index, header] of [...table.tHead.rows[0].cells].entries()) {
      header.querySelector("button")?.addEventListener("click", () => sort(table, index, header));
    }
    const input = box.querySelector("input[type=search]");
    box
      .querySelector("button.csv")
      ?.addEventListener("click", () => data.save(`${box.id}.csv`, asCsv(table), "text/csv"));
    const status = box.querySelector("[role=status]");
    input?.addEventListener("input", () => filter(table, input.value, status));
  };
  return { attach };
})();
