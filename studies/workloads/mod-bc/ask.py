"""ask.py PROGRAM [QUERY] ADDRESS: has mod_bc run a program of bc, and prints what that printed.

What it took, which the query `memory` asks for, goes to standard error.
"""

import http.client
import sys
import time
from pathlib import Path

PATIENCE = 100.0
"""Seconds for the server to listen and for its answer."""


def main() -> None:
    program, *query, address = sys.argv[1:]
    until = time.monotonic() + PATIENCE
    while True:
        connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        try:
            connection.connect()
            break
        except ConnectionRefusedError:  # it is still starting
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
    connection.request("POST", "?".join(["/bc", *query]), body=Path(program).read_bytes())
    answer = connection.getresponse()
    if answer.status != http.client.OK:
        sys.exit(f"httpd said {answer.status} {answer.reason}")
    sys.stdout.write(answer.read().decode())
    if took := answer.getheader("X-Memory"):
        sys.stderr.write(took + "\n")


main()
