"""Documents that people write, read into values: templates as rendered, Kubernetes objects."""
