"""Makes a site, its server's settings, and what is asked of it. Always the same for one scale."""

import random
import sys
from pathlib import Path

MODULES = [
    "mpm_prefork",
    "mime",
    "dir",
    "autoindex",
    "include",
    "rewrite",
    "setenvif",
    "headers",
    "authz_core",
]
CONFIG = """\
PidFile httpd.pid
ErrorLog error.log
LogLevel crit
ServerName localhost
User nobody
Group nogroup
Mutex default:.
KeepAlive On
MaxKeepAliveRequests 50
MaxConnectionsPerChild 0
DocumentRoot htdocs
TypesConfig mime.types
DirectoryIndex index.html
AddOutputFilter INCLUDES .shtml
IndexOptions FancyIndexing HTMLTable SuppressLastModified NameWidth=*
FileETag None
SetEnvIfNoCase User-Agent "robot" robot
Header set X-Served-By "httpd"
RewriteEngine On
RewriteRule "^/story/([a-z]+)/([0-9]+)$" "/pages/$1$2.shtml" [L]
RewriteRule "^/old/(.*)$" "/pages/$1" [R=301,L]
<Location />
    Require all granted
    Options Indexes Includes
</Location>
LogFormat "%h %l %u %r %>s %b %{Referer}i %{User-Agent}i" combined
CustomLog access.log combined
"""
PAGES = 24


def page(chance: random.Random, number: int) -> str:
    """One that is put together: variables, conditions, and parts that are pages themselves."""
    lines = [f'<!--#set var="title" value="Story {number}" --><title><!--#echo var="title" --></title>']
    for _ in range(12):
        part = chance.randrange(PAGES)
        lines.append(f"<!--#if expr=\"v('title') =~ /Story ([0-9]*{part % 10})$/\" --><b>$1</b><!--#else -->")
        lines.append(f'<p><!--#echo var="REQUEST_URI" --></p><!--#include virtual="/parts/{part}.html" -->')
        lines.append("<!--#endif -->")
    return "\n".join(lines) + "\n"


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20020715)  # noqa: S311 - no secret
    for name in ("pages", "parts", "files"):
        (folder / "htdocs" / name).mkdir(parents=True)
    for number in range(PAGES):
        (folder / f"htdocs/pages/story{number}.shtml").write_text(page(chance, number))
        (folder / f"htdocs/parts/{number}.html").write_text(f"<i>part {number}</i>\n" * chance.randint(1, 20))
    for number in range(60):
        (folder / f"htdocs/files/file{number}.txt").write_text("x" * chance.randrange(1, 5000))
    asked = []
    for _ in range(scale):
        asked += [f"/story/story/{chance.randrange(PAGES)}" for _ in range(20)]
        asked += [f"/files/file{chance.randrange(80)}.txt" for _ in range(20)]
        asked += ["/files/", "/files/?C=S;O=D", f"/old/story{chance.randrange(PAGES)}.shtml"]
    (folder / "requests.txt").write_text("".join(f"{each}\n" for each in asked))
    (folder / "mime.types").write_text("text/html html shtml\ntext/plain txt\n")
    loads = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in MODULES)
    (folder / "httpd.conf").write_text(loads + CONFIG)


main()
