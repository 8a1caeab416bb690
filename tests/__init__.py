"""Tests of traveltime_lab; they import one another's helpers from `tests.support`."""
