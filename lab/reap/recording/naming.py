"""Names for the program of a recording: that by which it was started, in place of its file's."""

import os
import re
import shutil
from pathlib import Path

from msgspec.structs import replace

from reap.recording.records import Profile, Site


def as_started(profile: Profile) -> Profile:
    """Renames a profile's program after its command, where that is a link to the program's file.

    A recording has the name of the file: redis-server of Debian is a link to redis-check-rdb. What is no link
    here, as on another machine, keeps its name.
    """
    word = profile.command[0] if profile.command else ""
    started = Path(word).name
    file = shutil.which(word) if word else None
    known = Path(os.path.realpath(file)).name if file else ""
    if not known or known == started or all(process.name != known for process in profile.processes):
        return profile
    return replace(
        profile,
        processes=[
            replace(process, name=started) if process.name == known else process
            for process in profile.processes
        ],
        sites=[_renamed(site, known, started) for site in profile.sites],
        notes=[
            re.sub(rf"(?<![\w./-]){re.escape(known)}(?![\w./-]*\w)", started, note) for note in profile.notes
        ],
    )


def _renamed(site: Site, known: str, started: str) -> Site:
    def in_text(text: str) -> str:
        return re.sub(rf"(?<![\w./-]){re.escape(known)}\+0x", f"{started}+0x", text)

    return replace(
        site,
        function=in_text(site.function),
        location=in_text(site.location),
        via=in_text(site.via),
        callers=[
            replace(each, function=in_text(each.function), location=in_text(each.location))
            for each in site.callers
        ],
        module=started if site.module == known else site.module,
        stack=[in_text(line) for line in site.stack],
    )
