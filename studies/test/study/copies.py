"""Programs for tests of claims: as many as a claim about many takes, none that is excluded."""

import msgspec

LEAST = 3


def foreign(described, **changes):
    """The card of a program that others wrote."""
    origin = msgspec.structs.replace(described.origin, package="other")
    return msgspec.structs.replace(described, origin=origin, **changes)


def copies(measured):
    """Each, and others of other names that are as it is: the same shares of more programs."""
    return [
        msgspec.structs.replace(
            each, card=msgspec.structs.replace(each.card, name=f"{each.card.name}{suffix}")
        )
        for suffix in ["", *(f"-{number}" for number in range(1, LEAST))]
        for each in measured
    ]
