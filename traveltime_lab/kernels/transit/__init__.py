"""Kernels on timetables: RAPTOR and range RAPTOR, access and egress, and preparations of the timetable."""
