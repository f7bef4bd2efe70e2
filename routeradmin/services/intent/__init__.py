"""Telling what a request for ``auto`` is about, and thereby which route serves it."""
