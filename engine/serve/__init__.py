"""An HTTP front: OpenAI-compatible completions over one engine, and what operators of a server ask it."""
