"""Makes shop.sql: tables, many small statements, joins. Always the same for one scale."""

import random
import sys
from pathlib import Path

RISE = "update sale set price = price + 1 where customer = {who} and count > 6;"
TOWNS = (
    "select town, count(*), sum(count * price), group_concat(distinct part) from sale s "
    "join customer c on c.id = s.customer where c.id between {first} and {last} "
    "group by town order by 3 desc, 1;"
)


def main() -> None:
    folder, scale = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(20020104)  # noqa: S311 - no secret
    lines = [
        "create table customer(id integer primary key, name text, town text);",
        "create table sale(id integer primary key, customer int, part text, count int, price int);",
        "create index by_customer on sale(customer);",
        "begin;",
    ]
    lines += [f"insert into customer values({n}, 'customer {n}', 'town {n % 37}');" for n in range(1000)]
    for number in range(scale * 1000):
        values = f"{number}, {chance.randrange(1000)}, 'part {chance.randrange(400)}'"
        lines.append(f"insert into sale values({values}, {chance.randint(1, 9)}, {chance.randint(1, 5000)});")
        who = chance.randrange(1000)
        if number % 20 == 0:
            lines.append(RISE.format(who=who))
        if number % 50 == 0:
            lines.append(TOWNS.format(first=who, last=who + 5))
    lines += ["commit;", "select count(*), sum(count * price), max(length(part)) from sale;"]
    (folder / "shop.sql").write_text("\n".join(lines) + "\n", encoding="ascii")


main()
