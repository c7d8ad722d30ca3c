"""Parts that the capabilities' reports share: sentences, labels and commands that several of them need.

What a single capability says belongs in its own folder; nothing here knows a capability.
"""
