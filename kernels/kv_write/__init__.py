"""Write keys and values into the token pool."""
