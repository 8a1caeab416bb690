"""
Search timetables: trips by bus, train, tram, metro and ferry, with access, transfers and egress on streets.

Other packages use `layer.TransitLayer` (a timetable and its streets), `timetable.Timetable`, `query.transit_query` (a
checked query), `travel_times.label_blocks` (matrices), `field.transit_field` (areas) and `itineraries.ItineraryBuilder`
(routes). `lengths.JourneyLengths` measures journeys without building their routes.
"""
