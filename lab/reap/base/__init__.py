"""What everything stands on: errors, files, records, units, text, ranks."""
