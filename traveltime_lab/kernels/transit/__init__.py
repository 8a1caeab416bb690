"""Searches on timetables: RAPTOR over departures and windows, and the streets before and after it."""
