"""Foundation of every other folder: errors, files, records, units, text, ranks."""
