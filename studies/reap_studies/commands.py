"""The commands that the studies add to reap, by name: the module of each, and its line in `reap --help`."""

COMMANDS = {
    "workloads": (
        "reap_studies.cli.command",
        "Run benchmark programs and known problems, each with its remedies.",
    ),
    "study": ("reap_studies.study.command", "Reproduce the studies behind Reap on this machine."),
}
