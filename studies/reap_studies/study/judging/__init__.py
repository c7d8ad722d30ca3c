"""How a published conclusion is judged by our own figures: the rules that all studies share.

`bounds` decide a figure, `exclusions` which figures count, `programs` make an effect of each program,
`standing` and `sensitivity` make the verdict and test it, `controls` test the method, `words` says it.
"""
