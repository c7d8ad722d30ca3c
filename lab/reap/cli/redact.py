"""Option `--redact`, for reports and exports that are to be shared."""

import sys
from pathlib import Path
from typing import Any

import click


def _begin(context: click.Context, _option: click.Parameter, given: bool) -> bool:
    if given:
        from reap.base import redact  # which loads msgspec

        redact.begin([Path(sys.argv[0]).name, *sys.argv[1:]])
        context.call_on_close(redact.end)
    return given


def option(function: Any) -> Any:  # noqa: ANN401 - as click's decorators
    """Adds the option. What is written then goes through `reap.base.redact.shared`."""
    return click.option(
        "--redact",
        is_flag=True,
        expose_value=False,
        callback=_begin,
        help="Leave command lines, folders and names of users out of reports and exports; recordings and "
        "folders of runs keep them.",
    )(function)
