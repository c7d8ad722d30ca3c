"""`--redact`: what is shared has no command line, folder, source or user, and still says what allocates."""

import gzip
import shutil

import pyarrow.parquet
import pytest
from programs import reap
from recorded import target
from samples import profile_of, report_of

from reap.answer.json import encode
from reap.answer.records import Answer
from reap.answer.redact import redacted
from reap.base import redact as base
from reap.export.command import FORMATS
from reap.show.part import ProfilePart

SECRETS = ("jane", "secret", "s3cr3t", "targets/", str(shutil.which("cat")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A recording of a program in a folder of a user, with an argument that nobody else should see."""
    made = tmp_path_factory.mktemp("redact") / "home" / "jane" / "my secret work"
    made.mkdir(parents=True)
    shutil.copy(target("stacks"), made / "stacks")
    shutil.copy("/bin/sh", made / "stacks-sh")
    words = ["--depth", "full", "-o", "r.reap", "--", str(made / "stacks"), "--password=s3cr3t"]
    assert reap("record", *words, cwd=made).returncode == 0
    return made


PROGRAM = ["./stacks", "--password=s3cr3t"]
VERBS = {
    "show": [["r.reap"], []],
    "diff": [["r.reap", "r.reap"], []],
    "check": [["--max-peak", "1 GB"], PROGRAM],
    "rss": [[], ["./stacks-sh", "-c", "sleep 0.4", "--password=s3cr3t"]],
    "fragment": [[], PROGRAM],
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_shared_says_nothing_of_the_machine(folder, verb):
    options, program = VERBS[verb]
    files = ["--json", f"{verb}.json", "--html", f"{verb}.html"]
    words = [*options, *files, *(["--", str(folder / program[0]), *program[1:]] if program else [])]
    done = reap("--redact", verb, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    for file in (folder / files[1], folder / files[3]):
        text = file.read_text()
        assert [secret for secret in SECRETS if secret in text] == [], file.name
        assert "stacks" in text
    if not program:
        plain = reap(verb, *options, "--json", "-", cwd=folder)
        assert "s3cr3t" in plain.stdout, "without it all is there"


def test_so_do_the_files_for_ci(folder):
    words = ["--max-peak", "1 B", "--junit", "j.xml", "--github", "--", str(folder / "stacks")]
    done = reap("--redact", "check", *words, "--password=s3cr3t", cwd=folder)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("::")]
    for text in ((folder / "j.xml").read_text(), *lines):
        assert [secret for secret in SECRETS if secret in text] == []
    assert lines


@pytest.mark.parametrize("form", FORMATS)
def test_so_does_every_export(folder, form):
    output = folder / f"export-{form}.gz"
    done = reap("--redact", "export", "r.reap", "--to", form, "-o", str(output), cwd=folder)
    assert done.returncode == 0, done.stderr
    for file in output.iterdir() if output.is_dir() else [output]:
        text = _text(file)
        assert [secret for secret in SECRETS if secret in text] == [], file.name
        assert "keeps_ten_of_100" in text or form in ("chrome-trace", "parquet")


def _text(file):
    """All strings that a file has, unpacked."""
    data = file.read_bytes()
    if data.startswith(b"PAR1"):
        return str(pyarrow.parquet.read_table(file).to_pydict())
    return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode(errors="replace")


def test_it_is_an_option_of_reap_itself(folder):
    done = reap("show", "--redact", "r.reap", cwd=folder)
    assert done.returncode == 2
    assert "No such option '--redact'" in done.stderr
    assert "Did you mean" not in done.stderr
    assert "  put it before the command: reap --redact show ...\n" in done.stderr


@pytest.mark.parametrize("words", [["record", "-o", "x.reap", "--", "true"], ["show", "--live", "r.reap"]])
def test_what_is_not_redacted_is_refused(folder, words):
    done = reap("--redact", *words, cwd=folder)
    assert done.returncode == 2
    assert "--redact" in done.stderr
    assert not (folder / "x.reap").exists()


def test_an_option_with_a_value_is_shown_with_it(folder):
    done = reap("show", "--config", "x.toml", "r.reap", cwd=folder)
    assert "  put it before the command: reap --config FILE show ...\n" in done.stderr


def test_the_verb_stays_whatever_is_in_front_of_it():
    line = ["reap", "--config", "private.toml", "--redact", "compare", "--plan", "secret.toml"]
    assert base.redacted({"made_by": line})["made_by"] == ["reap", "compare", "..."]


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
