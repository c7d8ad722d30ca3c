"""load.py REQUESTS ADDRESS: asks for each line of REQUESTS, and prints what of it does not vary."""

import hashlib
import http.client
import sys
import time
from pathlib import Path

PATIENCE = 20.0
"""Seconds for the server to listen, and for any answer."""
VARYING = ("date", "last-modified", "server")


def connected(address: str) -> http.client.HTTPConnection:
    """A connection to the server, which may still be starting."""
    host, port = address.split(":")
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
            connection.connect()
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return connection


def main() -> None:
    asked, address = Path(sys.argv[1]).read_text().split(), sys.argv[2]
    connection = connected(address)
    seen, size, counts = hashlib.sha256(), 0, dict.fromkeys((200, 301, 404), 0)
    for path in asked:
        # It opens another one where the server has closed this one.
        connection.request("GET", path, headers={"Host": "localhost", "User-Agent": "load"})
        answer = connection.getresponse()
        body = answer.read()
        headers = sorted((key, value) for key, value in answer.getheaders() if key.lower() not in VARYING)
        seen.update(repr((path, answer.status, headers)).encode() + body)
        size += len(body)
        counts[answer.status] += 1
    print(f"{len(asked)} requests, {size} bytes, {counts}, {seen.hexdigest()}")


if __name__ == "__main__":
    main()
