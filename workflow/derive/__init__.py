"""Measured rows -> facts -> claims. Reads CSVs and manifests only; imports neither torch nor the engine."""
