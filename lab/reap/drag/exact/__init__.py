"""Drag by engines that see every access: Valgrind, or a recompiled program."""
