"""Drawing of results, whatever they are of: SVG figures, the shell of a page, parts of the terminal.

Knows no capability: what is drawn comes as numbers and words.
"""
