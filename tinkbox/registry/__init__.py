"""The image registry: the OCI distribution protocol over content-addressed files, no database.

    blobs/sha256/<hex>, blobs/sha512/<hex>  what it says: the file's name is the hash of its bytes
    repositories/<name>/_manifests/<hex>    the repository has this manifest; holds its media type and when it came
    repositories/<name>/_tags/<tag>         holds a digest and when it was set
    incoming/                               what is on its way in; emptied at start
    verified, promised                      which blobs were hashed, and which clients were told of; to lose them costs work

Rule 1: a file is complete and on the disk before it has its name; whatever was acknowledged survives a power cut.
Rule 2: nothing refers to what is not there: blobs first, then the manifest, then the tag.  Exempt is what the specifications
let be elsewhere: a subject, what an index lists, layers that clients fetch from another place.
Rule 3: every digest is checked on the way in, and again before the first byte goes out.
"""
