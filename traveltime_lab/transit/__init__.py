"""
Timetables: trips by bus, train, tram, metro and ferry, with the streets before, between and after them.

The other rooms take from here `layer.TransitLayer` (a timetable on the streets), `timetable.Timetable`,
`query.transit_query` (a checked query), `travel_times.label_blocks` (matrices), `field.transit_field` (areas) and
`itineraries.ItineraryBuilder` (routes).
"""
