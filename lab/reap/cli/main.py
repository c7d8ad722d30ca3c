"""The command `reap`."""

import click


@click.group()
@click.version_option(package_name="reap")
def main() -> None:
    """Is memory allocation what holds a program back, and what would each remedy give?"""
