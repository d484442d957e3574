"""Audit of published figures: what a text claims, recomputed from the numbers that it printed.

One concept a module:

- tables: CSVs of a folder: rows by id, cells as intervals of their printed precision; the claims
- formula: a claim's formula as a tree, read with a whitelist
- expand: a formula with the figures and claims it refers to in its place
- interval: interval arithmetic, rounded outwards
- enclosure: the values that a formula can have while its inputs stay within their printed precision
- cancel: inputs that stand in a formula and cannot move it
- printed: a printed figure and its unit as an interval
- verdict: one claim to one verdict, by its kind
- against: claims of one text against one another
- show: a formula as the arithmetic that a reader would write
- report: the verdicts as text and JSON
"""
