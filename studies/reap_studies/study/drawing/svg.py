"""Parts that drawings share: how they begin, their colours, and words that cannot be markup."""

import html

from reap.api import printable

COLOURS = ("#777d88", "#0068ac", "#c04e00", "#7a4fa3")
"""Grey, blue, orange, violet: the page's."""


def begin(width: int, height: int, title: str) -> list[str]:
    """The first lines of a chart, which end with `</svg>`: it has the page's colour of text."""
    font = 'font-family="sans-serif" font-size="11" fill="currentColor"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {font}>',
        f"<title>{text(title)}</title>",
        f'<text x="0" y="14" font-size="13" font-weight="600">{text(title)}</text>',
    ]


def text(words: str) -> str:
    """The words, whatever they hold, as they are to be read."""
    return html.escape(printable(words))
