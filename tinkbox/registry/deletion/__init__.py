"""What goes: images that people delete, those that no tag names, and blobs that nothing refers to; and what may not go."""
