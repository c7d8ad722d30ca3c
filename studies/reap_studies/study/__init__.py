"""The papers' tables and figures as experiments, beside the published values: a folder for each paper.

What all studies share is here: their folders, pacing, judging, pages.
"""
