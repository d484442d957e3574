"""Plates: facts in, language-neutral SVG out, both languages filled in afterwards.

Nothing here computes a result. Positions on paper come from facts through an axis transform, words from
`templates/strings.yaml`, and every digit from a fact's formatter or from an axis marked as such.
"""
