"""Words that answers share."""

from msgspec.structs import replace
from samples import profile_of

from reap.answer.words import place


def test_a_site_without_a_name_is_said_once() -> None:
    """`git+0x289718 (git+0x289718)` was said of a program without symbols."""
    site = profile_of().sites[0]
    assert place(replace(site, function="read", location="a.c:7")) == "read (a.c:7)"
    assert place(replace(site, function="git+0x2897", location="git+0x2897")) == "git+0x2897"
    assert place(replace(site, function="", location="a.c:7")) == "a.c:7"
