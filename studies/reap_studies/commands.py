"""The commands that the studies add to reap, by name: the module of each, and its line in `reap --help`."""

COMMANDS = {
    "scenario": (
        "reap_studies.scenario.command",
        "Reproduce a known allocator problem and compare its remedies.",
    ),
    "workloads": (
        "reap_studies.cli.command",
        "Run the benchmark programs, with and without their custom allocators.",
    ),
    "study": ("reap_studies.study.command", "Reproduce the studies behind Reap on this machine."),
    "demo": ("reap_studies.cli.demo", "Run the whole analysis on perl, gcc and sed."),
}
