"""The pictures of the documents: a part of each command's report, in docs/images.

    .venv/bin/python lab/bench/pictures.py [NAME ...]

Makes the reports that the pages show, with the commands of the pages, and photographs them with Debian's
chromium; the view of `reap show --live` is drawn by Textual. Takes some minutes; NAMEs select pictures. Look
at every picture before you commit it.
"""

import asyncio
import base64
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab" / "test"))

import chromium  # noqa: E402 - is found by the line before

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

IMAGES = ROOT / "docs" / "images"
WIDTH = 1000
MOST_BYTES = 150_000

SERVER = ["./server", "per-request", "1", "40"]
PERL_HELD = 'my @all = map { "x" x 200 } 1 .. 500_000; my @kept = @all[0 .. 99]; undef @all; sleep 3'
PERL_DRAGS = (
    'my @lines = map { "x" x 100 } 1 .. 20000; my $n = @lines; '
    'my %h; $h{$_ % 5000} = "y" x 50 for 1 .. 100000'
)
LEVELS = [
    "compare",
    "--levels",
    "adv0,adv3",
    "-a",
    "glibc,jemalloc",
    "--budget",
    "60",
    "--html",
    "levels.html",
]
CHECK = ["check", "--max-peak", "8MB", "--max-allocations", "100k", "--html", "check.html"]
"""Exceeds a limit."""
GROWTH = [
    "rss",
    *("--server", 'redis-server --port {port} --save ""', "--ready", "tcp"),
    *("--load", "redis-benchmark -p {port} -q -t lpush -n 10000", "--hours", "0.1", "--html", "growth.html"),
]
SWEEP = """
allocators = ["glibc", "jemalloc", "mimalloc", "tcmalloc"]
[[programs]]
name = "perl-hash"
command = ["perl", "-e", "my %h; $h{$_} = $_ x 3 for 1 .. 50000"]
[[programs]]
name = "perl-list"
command = ["perl", "-e", "my @l = map { [$_] } 1 .. 100000"]
[[settings]]
name = "usual"
[[settings]]
name = "huge pages"
environment = { GLIBC_TUNABLES = "glibc.malloc.hugetlb=1" }
"""
FLEET = ["fleet", "fleet", "--by", "version", "--compare", "1.4", "1.5", "--html", "fleet.html"]
PERL_HASH = "my %h; $h{$_} = $_ x 3 for 1 .. 200000"


class Picture(NamedTuple):
    """A command that makes a page, and which part of the page is shown: pixels from the top."""

    words: list[str]
    command: list[str]
    page: str
    height: int
    stdin: bool = False
    top: int = 0
    at: str = ""
    """The element whose top is meant, as CSS selects it."""


PICTURES = {
    "report": Picture(["run", "-o", "run"], SERVER, "run/report.html", 780, stdin=True),
    "show": Picture(["show", "--html", "show.html", "server.reap"], [], "show.html", 1100),
    "flame": Picture(["show", "--html", "flame.html", "full.reap"], [], "flame.html", 760, at="figure.flame"),
    "live": Picture(["record", "-o", "live.reap"], [*SERVER[:3], "1500"], "live.html", 562, stdin=True),
    "diff": Picture(["diff", "--html", "diff.html", "full.reap", "less.reap"], [], "diff.html", 1000),
    "check": Picture(CHECK, [*SERVER[:3], "1"], "check.html", 640, stdin=True),
    "compare": Picture(["compare", "--html", "compare.html"], SERVER, "compare.html", 1000, stdin=True),
    "sweep": Picture(
        ["compare", "--plan", "plan.toml", "-o", "s1", "--html", "sweep.html"], [], "sweep.html", 760, at="h2"
    ),
    "fleet": Picture(FLEET, [], "fleet.html", 900),
    "wall": Picture(["wall", "-o", "wall"], SERVER, "wall/wall.html", 810, stdin=True),
    "rss": Picture(["rss", "--html", "rss.html"], ["perl", "-e", PERL_HELD], "rss.html", 960),
    "remedies": Picture(
        ["rss", "--try", "--html", "tried.html"], ["perl", "-e", PERL_HELD], "tried.html", 760, at="p.key"
    ),
    "growth": Picture(GROWTH, [], "growth.html", 900),
    "drag": Picture(["drag", "--html", "drag.html"], ["perl", "-e", PERL_DRAGS], "drag.html", 1000),
    "tune": Picture(["tune", "--html", "tune.html"], SERVER, "tune.html", 880, stdin=True),
    "levels": Picture(LEVELS, ["perl", "-e", PERL_HASH], "levels.html", 760, top=680),
}


def main() -> int:
    """Makes the named pictures, or all; 1 if one is too large or its page has printed an error."""
    wanted = sys.argv[1:] or list(PICTURES)
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        driver = chromium.started(folder / "profile")
        try:
            for each in wanted:
                if each == "live":
                    watch(PICTURES[each], folder)
                else:
                    make(PICTURES[each], folder)
                good &= photograph(driver, folder / PICTURES[each].page, each, PICTURES[each])
        finally:
            driver.quit()
    return 0 if good else 1


def prepare(folder: Path) -> None:
    """The server of the tutorial, its requests, and recordings of it in both depths."""
    source = ROOT / "docs" / "patterns" / "server.cpp"
    flags = ["-O2", "-g", "-std=c++20", "-pthread", f"-I{ROOT / 'library' / 'include'}"]
    subprocess.run(["g++", *flags, str(source), "-o", str(folder / "server")], check=True)
    with (folder / "requests").open("wb") as requests:
        maker = ROOT / "docs" / "patterns" / "requests.py"
        subprocess.run([sys.executable, str(maker), "5000"], stdout=requests, check=True)
    recorded = Picture(["record", "-o", "server.reap"], [*SERVER[:3], "20"], "", 0, stdin=True)
    make(recorded, folder)
    every_stack = Picture(["record", "-d", "full", "-o", "full.reap"], [*SERVER[:3], "1"], "", 0, stdin=True)
    make(every_stack, folder)
    (folder / "plan.toml").write_text(SWEEP)
    (folder / "fleet").mkdir()
    for version, kind in [("1.4", "per-request"), ("1.5", "less")] * 3:
        labels = ["--label", "service=shop", "--label", f"version={version}"]
        shop = ["./server", kind, "1", "20"]
        make(Picture(["record", "-f", "-o", "shop.reap", *labels], shop, "", 0, stdin=True), folder)
        make(Picture(["export", "--to", "fleet", "-o", "fleet/", "shop.reap"], [], "", 0), folder)
    improved = Picture(
        ["record", "-d", "full", "-o", "less.reap"], ["./server", "less", "1", "1"], "", 0, stdin=True
    )
    make(improved, folder)


def make(picture: Picture, folder: Path) -> None:
    """Runs reap in the folder."""
    reap = Path(sys.executable).parent / "reap"
    command = ["--", *picture.command] if picture.command else []
    with (folder / ("requests" if picture.stdin else os.devnull)).open("rb") as stdin:
        subprocess.run(
            [str(reap), *picture.words, *command],
            cwd=folder,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=picture.words[0] != "check",
        )


def watch(picture: Picture, folder: Path) -> None:
    """Makes a page of what `reap show --live` shows of a recording while it is made."""
    from reap.show.live.run import Watched
    from reap.show.live.terminal import View

    recording = folder / picture.words[-1]
    making = threading.Thread(target=make, args=(picture, folder))
    making.start()
    while not recording.exists() or recording.stat().st_size < 1 << 20:
        time.sleep(0.01)
    view = View(Watched(recording).look, 0.25)

    async def drawn() -> str:
        async with view.run_test(size=(120, 32)) as pilot:
            await pilot.pause(6)
            return view.export_screenshot(title="reap show --live server.reap")

    svg = asyncio.run(drawn())
    making.join()
    # Without the fonts that it asks the network for.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    page = f"<!doctype html><style>body {{ margin: 0 }} svg {{ width: {WIDTH}px }}</style>{svg}"
    (folder / picture.page).write_text(page)


def photograph(driver: "Chrome", page: Path, name: str, shown: Picture) -> bool:
    """Writes the shown part of a page as a picture; False if it is too large or the page printed an error."""
    driver.get_log("browser")
    size = {"width": WIDTH, "height": shown.top + shown.height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", size
    )  # a window's height has its frame in it
    driver.get(page.as_uri())
    driver.execute_async_script("setTimeout(arguments[0], 1500)")  # charts are drawn by then
    place = f"return document.querySelector('{shown.at}').getBoundingClientRect().y + scrollY"
    top = shown.top + (int(driver.execute_script(place)) - 20 if shown.at else 0)
    clip = {"x": 0, "y": top, "width": WIDTH, "height": shown.height, "scale": 1}
    wanted = {"format": "png", "clip": clip, "captureBeyondViewport": bool(shown.at)}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", wanted)
    data = base64.b64decode(taken["data"])
    (IMAGES / f"{name}.png").write_bytes(data)
    errors = [entry["message"] for entry in driver.get_log("browser")]
    print(f"{name:<10} {len(data) / 1000:6.0f} kB  {'; '.join(errors)}", flush=True)
    return not errors and len(data) <= MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
