"""Parts that commands share: options, progress, standard input, the files and lines that they write."""
