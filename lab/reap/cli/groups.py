"""A verb with verbs below it."""

import click


class Group(click.Group):
    """A group that lists its commands with whole sentences; click's own cuts them at the line's end."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first sentence of each command's help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=300)) for name, each in found if each])
