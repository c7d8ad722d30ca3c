"""Drag by sampling: objects are sampled by bytes, and their pages are watched."""
