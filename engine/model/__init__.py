"""The hybrid target: KDA layers with a minority of full attention, its weights and its tokenizer."""
