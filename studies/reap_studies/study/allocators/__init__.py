"""*An experimental evaluation of six general-purpose memory allocators*, over the allocators of today."""
