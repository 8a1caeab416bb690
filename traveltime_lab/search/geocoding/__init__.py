"""Names to coordinates and back: from the network's own OpenStreetMap names, or from a Nominatim server."""
