"""
The /v4 contract: requests, answers, limits and error bodies.

`requests` and `area_requests` describe the bodies, `decode` reads and checks them, `queries` reads URLs, `responses`
describes the answers, `errors` maps exceptions to error bodies.
"""
