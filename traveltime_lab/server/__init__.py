"""
The library over HTTP, in the form of a public travel-time service: its clients work with only the address changed.

The server is thin. A request is read and checked (`contract`, `protobuf`), put to the array-level searches of the
library and answered (`endpoints`, `formats`); `app` implements HTTP, `serve` starts it.
"""
