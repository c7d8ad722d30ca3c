"""Ways of allocating that a recording shows and that a change of the program removes, a file for each kind.

A file belongs here if its pattern follows from a recording alone, names a line, and goes away with the change
that it advises.
"""
