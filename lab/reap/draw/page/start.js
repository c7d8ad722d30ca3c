"use strict";
// What the page tells those who drive it: whether it is ready, what went wrong, and its charts by figure.
const reapReport = { ready: false, errors: [], charts: {}, report: null };
window.reapReport = reapReport;
window.addEventListener("error", (event) => reapReport.errors.push(String(event.message)));
window.addEventListener("unhandledrejection", (event) => reapReport.errors.push(String(event.reason)));
document.addEventListener("securitypolicyviolation", (event) =>
  reapReport.errors.push(`${event.violatedDirective}: ${event.blockedURI}`),
);
reapReport.report = JSON.parse(document.getElementById("report-data").textContent);
