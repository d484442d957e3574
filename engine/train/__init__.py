"""Offline training of the shipped weights: data, target model, draft heads, arithmetic gate.

Nothing at run time imports this package; the inference engine reads only the files that
``python -m engine.train`` leaves in ``engine/weights`` and ``engine/heldout``.
"""
