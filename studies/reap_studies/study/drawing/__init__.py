"""Drawings of the studies' pages: SVG that stands in a page or by itself."""
