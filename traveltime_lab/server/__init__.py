"""
The library over HTTP, in the form of a public travel-time service: its clients work with only the address changed.

The server is thin. A request is read and checked (`contract`, `schema`, `rules`, `protobuf`), put to the library
(`engine`), and its answer written (`answers`, `formats`); `app` is what knows HTTP, `running` starts it.
"""
