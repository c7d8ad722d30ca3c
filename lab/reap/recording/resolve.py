"""Looking up the names that a recording lacks."""

from collections.abc import Sequence
from pathlib import Path

from reap import native
from reap.base.files import native_name
from reap.launch import native_files
from reap.recording.read import read, reading
from reap.recording.record import other_build


def resolve(
    path: Path, sysroots: Sequence[Path] = (), debug_folders: Sequence[Path] = ()
) -> tuple[native.Recording, list[str]]:
    """Reads a recording with the names that can be found now, and returns notes of what came of it.

    Each is a sentence. Files are taken that have the build id that was recorded: below `sysroots`, in
    `debug_folders`, at the module's own path, where elfutils looks, and from the servers of DEBUGINFOD_URLS.
    The names are kept in the recording, where it is complete and can be written. Throws ReapError if it
    cannot be read or is none.
    """
    folders = native.Folders(
        [native_name(folder) for folder in sysroots],
        [native_name(folder) for folder in debug_folders],
        ask_servers=True,
    )
    kept, refused, why = 0, list[str](), ""
    with reading(path):
        try:
            outcome = native.keep_names(
                native_name(path), native_files.preload("record").name, folders, again=True
            )
            kept, refused = outcome.kept, outcome.refused
            why = "" if outcome.complete else "it is compressed, or was not closed"
        except OSError as error:
            if not path.is_file():
                raise
            why = error.strerror or str(error)
    recording = read(path, folders)
    notes = [f"{other_build(file)}." for file in refused]
    if kept:
        notes.append(f"{kept} addresses got names, which are kept in {path}.")
    if why:
        notes.append(f"Names are looked up for this view alone, as {path} cannot keep them: {why}.")
    return recording, notes
