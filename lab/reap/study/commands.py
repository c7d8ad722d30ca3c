"""The commands that the studies add to reap, by name: the module of each, and its line in `reap --help`."""

COMMANDS = {
    "scenario": (
        "reap.scenario.command",
        "Reproduce a known allocator problem and compare its remedies.",
    ),
    "workloads": (
        "reap.cli.workloads.command",
        "Run the benchmark programs, with and without their custom allocators.",
    ),
    "study": ("reap.study.command", "Reproduce the studies behind Reap on this machine."),
    "demo": ("reap.run.demo", "Run the whole analysis on perl, gcc and sed."),
}
