"""Scripts for boot loaders, built from tokens: no text from outside can become a command."""
