"""Result files of other tools as campaigns: read once, converted once, at this border.

A format is one module of `workflow.importers.formats`. Everything right of it sees the columns of `workflow/schemas`: milliseconds, tokens a second,
shares from 0 to 1, accept lengths with the bonus counted. What a file does not say stays empty; what was left out is reported by name.
"""
