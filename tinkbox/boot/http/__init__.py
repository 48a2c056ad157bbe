"""Boot scripts, kernels, ramdisks and loaders over HTTP."""
