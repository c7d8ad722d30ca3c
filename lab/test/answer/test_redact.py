"""`--redact`: what is shared has no command line, folder, source or user, and still says what allocates."""

import shutil

import pytest
from programs import reap
from recorded import target
from samples import profile_of, report_of

from reap.answer.json import encode
from reap.answer.records import Answer
from reap.answer.redact import redacted
from reap.show.part import ProfilePart

SECRETS = ("jane", "secret", "s3cr3t", "targets/", str(shutil.which("cat")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recording of a program in a folder of a user, with an argument that nobody else should see."""
    made = tmp_path_factory.mktemp("redact") / "home" / "jane" / "my secret work"
    made.mkdir(parents=True)
    shutil.copy(target("stacks"), made / "stacks")
    words = ["--depth", "full", "-o", "r.reap", "--", str(made / "stacks"), "--password=s3cr3t"]
    assert reap("record", *words, cwd=made).returncode == 0
    return made


@pytest.mark.parametrize("verb", [["show", "r.reap"], ["diff", "r.reap", "r.reap"]])
def test_what_is_shared_says_nothing_of_the_machine(folder, verb):
    files = ["--json", f"{verb[0]}.json", "--html", f"{verb[0]}.html"]
    done = reap(*verb, *files, "--redact", cwd=folder)
    assert done.returncode == 0, done.stderr
    for file in (folder / files[1], folder / files[3]):
        text = file.read_text()
        assert [secret for secret in SECRETS if secret in text] == [], file.name
        assert "keeps_ten_of_100" in text
        assert "stacks" in text
    plain = reap(*verb, "--json", "-", cwd=folder)
    assert "s3cr3t" in plain.stdout, "without it all is there"


def test_text_that_is_no_path_stays():
    profile = profile_of(
        notes=[
            "3 requests/s, 5 MiB/s; see /home/jane/a.c, jane's ~/x/y.txt and src/lib/z.cpp:7",
            "jane and janet",
        ]
    )
    report = report_of(Answer(title="x", command=["/home/jane/x", "y"], parts=[ProfilePart(profile=profile)]))
    held = redacted(report).answers[0]
    assert held.command == ["x", "..."]
    part = held.part(ProfilePart)
    assert part is not None
    assert part.profile.notes == [
        "3 requests/s, 5 MiB/s; see a.c, user's y.txt and z.cpp:7",
        "user and janet",
    ]
    assert encode(redacted(redacted(report))) == encode(redacted(report))
