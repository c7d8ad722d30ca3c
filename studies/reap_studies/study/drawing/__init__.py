"""Figures of the studies, drawn by matplotlib: SVG that stands in a page or by itself."""
