"""What the commands share: options, progress, standard input, the files that they write, what they say."""
