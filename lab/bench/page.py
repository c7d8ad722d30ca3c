"""How large the page of a long recording is, how long it takes to make, to open, and to react.

    .venv/bin/python lab/bench/page.py [EVENTS] [SITES]

Records a program that allocates from SITES lines (50,000) in full depth until it has EVENTS events (10
million), makes its page, and opens it in Debian's chromium. A reaction lasts from the change of a control to
the frame that shows it. The bars: below 2 MB; opened in 2 s; reactions in 100 ms. Times are those of this
machine as it is; on a busy one take the CPU time of the page's process, which is printed beside them.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab" / "test"))

import chromium  # noqa: E402 - is found by the line before

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

A_FUNCTION = 100
"""Sites of a function."""
MAIN = """
int main(int argc, char **argv) {
    long turns = atol(argv[1]);
    uint64_t state = 1;
    for (long i = 0; i < turns; ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        void **slot = &live[state % LIVE];
        free(*slot);
        *slot = functions[(state >> 20) % FUNCTIONS]((state >> 40) % SITES, 16 + (state >> 50) % 240);
    }
    return argc < 0;
}
"""
REACTIONS = {
    "another measure": "s('.flame .measure').value = 'peak', fire(s('.flame .measure'), 'change')",
    "inverted": "s('.flame .inverted').click()",
    "back": "s('.flame .inverted').click()",
    "a span of time": "s('.flame .to').value = 40, fire(s('.flame .to'), 'input')",
    "search": "s('.flame .search').value = 'function_1', fire(s('.flame .search'), 'input')",
    "hide runtime": "s('.flame .hide')?.click()",
    "filter sites": "s('.sortable input').value = '7', fire(s('.sortable input'), 'input')",
    "sort sites": "s('.sites thead button').click()",
}


def source(sites: int) -> str:
    """A program with an allocation on each of `sites` lines."""
    functions = max(1, sites // A_FUNCTION)
    lines = ["#include <stdint.h>", "#include <stdlib.h>", "enum { LIVE = 100000 };", "void *live[LIVE];"]
    for function in range(functions):
        lines.append(
            f"void *function_{function}(int site, size_t size) {{ void *volatile block; switch (site) {{"
        )
        lines += [f"case {site}: block = malloc(size); return block;" for site in range(A_FUNCTION)]
        lines.append("} return 0; }")
    names = ", ".join(f"function_{function}" for function in range(functions))
    lines.append(f"enum {{ FUNCTIONS = {functions}, SITES = {A_FUNCTION} }};")
    lines.append(f"void *(*functions[])(int, size_t) = {{{names}}};")
    return "\n".join(lines) + MAIN


def opened(driver: "Chrome", page: Path) -> tuple[float, float]:
    """Seconds until the page is ready, and of those the CPU time of its process."""
    driver.execute_cdp_cmd("Performance.enable", {})
    driver.get("about:blank")
    driver.get(page.as_uri())
    for _ in range(600):
        if driver.execute_script("return Boolean(window.reapReport && reapReport.ready)"):
            break
        time.sleep(0.05)
    ready = driver.execute_script("return performance.getEntriesByName('reap-ready')[0]?.startTime")
    metrics = {
        each["name"]: each["value"]
        for each in driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    }
    return ready / 1000, metrics["TaskDuration"]


def reaction(driver: "Chrome", action: str) -> float:
    """Milliseconds from a change to the frame that shows it."""
    script = """
        const done = arguments[0];
        const s = (selector) => document.querySelector(selector);
        const fire = (element, kind) => element.dispatchEvent(new Event(kind, {bubbles: true}));
        const begin = performance.now();
        %s;
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
    """
    return driver.execute_async_script(script % action)


def main() -> int:
    """Prints each figure beside its bar."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    sites = int(sys.argv[2]) if len(sys.argv) > 2 else 50_000
    reap = str(Path(sys.executable).with_name("reap"))
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        folder = Path(name)
        (folder / "sites.c").write_text(source(sites))
        subprocess.run(
            ["gcc", "-g", "-O1", "-fno-builtin", "-o", folder / "sites", folder / "sites.c"], check=True
        )
        recording, page = folder / "sites.reap", folder / "page.html"
        program = [str(folder / "sites"), str(events // 2)]
        words = [reap, "record", "--depth", "full", "-o", str(recording), "--", *program]
        subprocess.run(words, check=True, capture_output=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([reap, "show", "--html", str(page), str(recording)], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{events} events, {sites} sites, {recording.stat().st_size / 1e6:.0f} MB")
        print(f"to make the page    {cpu:7.2f} s of CPU time, {after.ru_maxrss / 1024:.0f} MiB at most")
        print(f"the page            {page.stat().st_size / 1e6:7.2f} MB         bar 2 MB")
        driver = chromium.started(folder / "profile")
        try:
            driver.set_script_timeout(60)
            ready, busy = min(opened(driver, page) for _ in range(3))
            print(f"to open it          {ready:7.2f} s          bar 2 s; {busy:.2f} s of CPU time")
            count = driver.execute_script("return reapReport.report.answers[0].flame.parents.length")
            print(f"boxes               {count:7}")
            for what, action in REACTIONS.items():
                print(f"{what:<18}{reaction(driver, action):8.0f} ms         bar 100 ms")
        finally:
            driver.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
