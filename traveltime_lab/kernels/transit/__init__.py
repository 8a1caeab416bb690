"""Kernels on timetables: RAPTOR and range RAPTOR, access and egress, and what prepares the timetable for them."""
