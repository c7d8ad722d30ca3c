"""The programs that are measured: their cards, their sources, what they need, one run of each.

`card` reads cards, `preparation` makes programs and inputs, `provision` says which packages lack.
"""
