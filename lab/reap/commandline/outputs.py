"""Options for the files of a result."""

from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)

json = click.option("--json", "json_file", type=FILE, help="Write the results as JSON; - is standard output.")
html = click.option("--html", "html_file", type=FILE, help="Write a report as one HTML file.")
force = click.option("-f", "--force", is_flag=True, help="Replace what exists.")
