"""Images as what refers to blobs: manifests, the repositories and tags that name them, and what refers to a manifest."""
