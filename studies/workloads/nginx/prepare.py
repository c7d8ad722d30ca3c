"""Makes a site, its server's settings, and what is asked of it. Always the same for one scale."""

import random
import sys
from pathlib import Path

CONFIG = """\
daemon off;
master_process off;
pid nginx.pid;
error_log error.log crit;
events { worker_connections 64; }
http {
    types { text/html html shtml; text/plain txt; }
    access_log access.log combined;
    client_body_temp_path temporary;
    proxy_temp_path temporary;
    fastcgi_temp_path temporary;
    uwsgi_temp_path temporary;
    scgi_temp_path temporary;
    keepalive_requests 50;
    etag off;
    absolute_redirect off;
    map $arg_of $section { default none; story pages; file files; }
    server {
        listen ADDRESS;
        server_name localhost;
        root htdocs;
        add_header X-Section $section;
        location /story/ { alias htdocs/pages/; ssi on; }
        location /parts/ { ssi on; }
    }
}
"""
PAGES, PARTS = 24, 12


def page(chance: random.Random, number: int) -> str:
    """One that is put together: variables, conditions, and parts that are pages themselves."""
    lines = [f'<!--# set var="title" value="Story {number}" --><title><!--# echo var="title" --></title>']
    for _ in range(PARTS):
        part = chance.randrange(PAGES)
        lines.append(f"<!--# if expr=\"$title = 'Story {part}'\" --><b>itself</b><!--# else -->")
        lines.append(f'<p><!--# echo var="request_uri" --></p><!--# include virtual="/parts/{part}.html" -->')
        lines.append("<!--# endif -->")
    return "\n".join(lines) + "\n"


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20261126)  # noqa: S311 - no secret
    for name in ("pages", "parts", "files"):
        (folder / "htdocs" / name).mkdir(parents=True)
    (folder / "temporary").mkdir()
    for number in range(PAGES):
        (folder / f"htdocs/pages/{number}.shtml").write_text(page(chance, number))
        (folder / f"htdocs/parts/{number}.html").write_text(
            f'<i>part {number} of <!--# echo var="title" --></i>\n' * chance.randint(1, 20)
        )
    for number in range(60):
        (folder / f"htdocs/files/file{number}.txt").write_text("x" * chance.randrange(1, 5000))
    asked = []
    for _ in range(scale):
        asked += [f"/story/{chance.randrange(PAGES)}.shtml?of=story" for _ in range(20)]
        asked += [f"/files/file{chance.randrange(80)}.txt?of=file" for _ in range(20)]
        asked += ["/files", f"/parts/{chance.randrange(PAGES)}.html"]
    (folder / "requests.txt").write_text("".join(f"{each}\n" for each in asked))
    (folder / "nginx.conf").write_text(CONFIG)


main()
