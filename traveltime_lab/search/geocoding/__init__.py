"""Geocoding and reverse geocoding with the OpenStreetMap names of the network, or with a Nominatim server."""
