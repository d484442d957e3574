"""Mode `graph`: a verify window recorded once a batch bucket, then replayed on the same memory."""
