"""Tests of `daskvars.layers`."""
