"""SwiGLU activation: silu(gate) times up."""
