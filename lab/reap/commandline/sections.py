"""Headings in the help of a command with many options."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import click

_OTHERS = "Options"
_KEY = "reap_section"
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


class Sectioned(click.Command):
    """A command that lists its options under the headings of `section`, and the others last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each heading where its first option stands."""
        listed: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if isinstance(each, click.Option) and (record := each.get_help_record(ctx)):
                listed.setdefault(heading(each), []).append(record)
        others = listed.pop(_OTHERS, [])
        for title, records in [*listed.items(), (_OTHERS, others)]:
            with formatter.section(title):
                formatter.write_dl(records)


def heading(each: click.Parameter) -> str:
    """Heading that it is listed under."""
    return str(vars(each).get(_KEY, _OTHERS))


def section(title: str, *decorators: Callable[[Any], Any]) -> Callable[[_Verb], _Verb]:
    """Puts these options under a heading, the first on top."""

    def decorate(verb: _Verb) -> _Verb:
        before = len(getattr(verb, "__click_params__", ()))
        decorated: Any = verb
        for each in reversed(decorators):
            decorated = each(decorated)
        for added in decorated.__click_params__[before:]:
            vars(added).setdefault(_KEY, title)
        return cast("_Verb", decorated)

    return decorate
