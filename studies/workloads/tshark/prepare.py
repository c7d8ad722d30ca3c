"""Makes traffic.pcap: names asked for, pages fetched, files shared. Always the same for one scale."""

import random
import struct
import sys
from pathlib import Path

CLIENTS, SERVERS = 0x0A000001, 0x0A010001
NAMES = ["www", "mail", "ftp", "static", "api", "img", "login", "cdn"]


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def packet(protocol: int, source: int, target: int, body: bytes, number: int) -> bytes:
    head = struct.pack(
        "!BBHHHBBHII", 0x45, 0, 20 + len(body), number % 65536, 0, 64, protocol, 0, source, target
    )
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return bytes(6) + b"\2" + bytes(5) + b"\x08\0" + head + body


def udp(source: int, target: int, port: int, data: bytes, number: int, *, answer: bool = False) -> bytes:
    ports = (port, 1024 + number % 60000)
    head = struct.pack("!HHHH", *(ports if answer else ports[::-1]), 8 + len(data), 0)
    return packet(17, source, target, head + data, number)


def name(chance: random.Random) -> bytes:
    labels = [chance.choice(NAMES), f"host{chance.randrange(300)}", "example", "org"]
    return b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"


def dns(chance: random.Random, number: int) -> list[bytes]:
    asked = name(chance)
    query = struct.pack("!6H", number % 65536, 0x0100, 1, 0, 0, 0) + asked + struct.pack("!HH", 1, 1)
    count = chance.randint(1, 6)
    records = b"".join(
        struct.pack("!HHHIH", 0xC00C, 1, 1, chance.randrange(9999), 4)
        + bytes(chance.randrange(256) for _ in range(4))
        for _ in range(count)
    )
    answer = struct.pack("!6H", number % 65536, 0x8180, 1, count, 0, 0) + query[12:] + records
    host, server = CLIENTS + chance.randrange(400), SERVERS + 53
    return [udp(host, server, 53, query, number), udp(server, host, 53, answer, number, answer=True)]


def tcp(
    source: int, target: int, ports: tuple[int, int], at: tuple[int, int], flags: int, data: bytes, n: int
) -> bytes:
    head = struct.pack("!HHIIBBHHH", *ports, *at, 0x50, flags, 8192, 0, 0)
    return packet(6, source, target, head + data, n)


def http(chance: random.Random, number: int) -> list[bytes]:
    host, server = CLIENTS + chance.randrange(400), SERVERS + chance.randrange(200)
    port = 1024 + number % 60000
    there, back = (port, 80), (80, port)
    page = f"/{chance.choice(NAMES)}/{chance.randrange(5000)}.html"
    query = (
        f"GET {page} HTTP/1.1\r\nHost: www{chance.randrange(99)}.example.org\r\nAccept: text/html\r\n"
        f"User-Agent: a browser/{chance.randrange(9)}\r\nCookie: id={chance.getrandbits(60):x}\r\n\r\n"
    ).encode()
    body = b"".join(b"<p>line %d</p>\n" % n for n in range(chance.randint(2, 40)))
    reply = (
        b"HTTP/1.1 200 OK\r\nServer: s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
    )
    a, b = 1000, 5000
    return [
        tcp(host, server, there, (a, 0), 0x02, b"", number),
        tcp(server, host, back, (b, a + 1), 0x12, b"", number),
        tcp(host, server, there, (a + 1, b + 1), 0x18, query, number),
        tcp(server, host, back, (b + 1, a + 1 + len(query)), 0x18, reply[:1400], number),
        tcp(host, server, there, (a + 1 + len(query), b + 1 + len(reply[:1400])), 0x11, b"", number),
    ]


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20060607)  # noqa: S311 - no secret
    parts = [struct.pack("!IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for number in range(scale * 100):
        for each in dns(chance, number) if chance.random() < 0.5 else http(chance, number):
            parts.append(
                struct.pack("!IIII", 1_150_000_000 + number // 50, len(parts) % 1000000, len(each), len(each))
            )
            parts.append(each)
    (folder / "traffic.pcap").write_bytes(b"".join(parts))


main()
