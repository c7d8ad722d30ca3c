"""Makes a program of bc, and the settings of a server that runs it. Always the same for one scale."""

import sys
from pathlib import Path

CONFIG = """\
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule bc_module ${BUILT}/mod_bc.so
PidFile httpd.pid
ErrorLog error.log
LogLevel crit
ServerName localhost
User nobody
Group nogroup
Mutex default:.
DocumentRoot .
<Location /bc>
    Require all granted
    SetHandler bc
</Location>
"""
PROGRAM = """\
/* Prints the prime of this number: each odd number is divided by all odd ones up to its root. */
define p(n) {
    auto c, d, r
    l = 2
    for (c = 3; n > 1; c += 2) {
        r = 1
        for (d = 3; d * d <= c; d += 2) { if (c % d == 0) { r = 0; break; } }
        if (r) { n -= 1; l = c; }
    }
    return (l)
}
"prime number COUNT is "
p(COUNT)
"""


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    (folder / "httpd.conf").write_text(CONFIG)
    (folder / "primes.bc").write_text(PROGRAM.replace("COUNT", str(scale * 100)))


main()
