// The numbers behind each figure: as a table when it is opened, as JSON when it is asked for.
const data = (() => {
  const table = (built, caption) => {
    const element = document.createElement("table");
    element.appendChild(document.createElement("caption")).textContent = caption;
    const head = element.appendChild(document.createElement("thead")).insertRow();
    for (const name of built.columns) {
      const cell = head.appendChild(document.createElement("th"));
      cell.scope = "col";
      cell.textContent = name;
    }
    const body = element.appendChild(document.createElement("tbody"));
    for (const row of built.rows) {
      const line = body.insertRow();
      for (const value of row) {
        const cell = line.insertCell();
        cell.textContent =
          value === null ? "" : typeof value === "number" ? String(Number(value.toPrecision(7))) : value;
        if (typeof value === "number") cell.className = "number";
      }
    }
    return element;
  };

  const download = (name, content) => save(name, JSON.stringify(content, null, 1), "application/json");

  // A spreadsheet takes text that begins like a formula for one, unless an apostrophe stands before it.
  const csv = (rows) => {
    const cell = (value) => {
      const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
  };

  const save = (name, text, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  const attach = (figure, built) => {
    const details = figure.querySelector("details.data");
    const caption = figure.querySelector("figcaption h4").textContent;
    details.addEventListener("toggle", () => {
      const body = details.querySelector(".scroll");
      if (details.open && !body.firstChild) body.appendChild(table(built, caption));
    });
    figure.querySelector("button.download").addEventListener("click", () =>
      download(
        `${figure.id}.json`,
        built.rows.map((row) => Object.fromEntries(built.columns.map((name, index) => [name, row[index]]))),
      ),
    );
  };
  return { attach, csv, download, save };
})();
