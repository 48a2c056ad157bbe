"""The catalogue of system images: where official images are, how to find the newest, and how to prove that it is one.

`entries` says what an entry is and `reading` reads it from YAML; `layers` puts the built-in catalogue, a newer one and the
operator's own entries over each other.  `resolving` finds the newest image of an entry, `downloading` brings it here, and
`fetching` does both and proves it (`openpgp`, `sums`).
"""
