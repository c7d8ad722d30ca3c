"""What the capabilities' reports share: the sentences, labels and commands that more than one of them needs.

What a single capability says belongs in its own folder; nothing here knows a capability.
"""
