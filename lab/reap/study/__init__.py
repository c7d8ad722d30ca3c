"""The papers' tables and figures as experiments, beside the published values."""
