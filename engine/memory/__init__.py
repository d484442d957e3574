"""What requests occupy while they run: pages of the KV pool and slots of the recurrent state pool."""
