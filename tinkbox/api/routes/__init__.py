"""The nouns of the operator door's URLs, in rooms by what they are about."""
