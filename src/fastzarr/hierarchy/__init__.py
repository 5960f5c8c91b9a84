"""Arrays in a hierarchy: `Array`, and how it is created and opened."""
