"""The verdict on a terminal. Without colour nothing is lost."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from reap.base.text import printable
from reap.evidence.judge.records import Diagnosis

COLOURS = {
    "leave it alone": "bold green",
    "switch the allocator": "bold cyan",
    "change a setting": "bold cyan",
    "allocate less": "bold yellow",
    "inconclusive": "bold",
}
"""By conclusion."""


def render(console: Console, diagnosis: Diagnosis, *, details: bool = False) -> None:
    """Print the verdict and the next command on a line of its own, ready to be pasted: a screen of 24 lines.

    With `details` the refuted causes, too, and the facts that all rests on stand between them.
    """
    headline = Text("Verdict: ", style="bold")
    headline.append(diagnosis.headline, style=COLOURS[diagnosis.headline])
    console.print(headline)
    console.print(Padding(Text(printable(diagnosis.paragraph)), (0, 0, 0, 2)))
    for found in diagnosis.findings if details else diagnosis.told:
        console.print(Padding(Text(f"- {printable(found.sentence)}"), (0, 0, 0, 2)))
    console.print()
    if details:
        for fact in diagnosis.evidence:
            console.print(Padding(Text(f"- {printable(fact.statement)} [{fact.source}]"), (0, 0, 0, 2)))
        console.print()
    console.print(Text("Next: ", style="bold") + Text(printable(diagnosis.next_step)))
    if diagnosis.next_command:
        # Not wrapped: a command that is cut into lines cannot be pasted.
        console.print(Text(f"  {printable(diagnosis.next_command)}", style="bold"), soft_wrap=True)
