"""What every verdict is made of: its record, its thresholds, sentences with figures, commands to paste."""
