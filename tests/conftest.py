"""Property tests: no deadline (machines are shared), and in CI the same examples every time.

A random draw that fails in CI says nothing about the change under test. Run here with other draws, and more of them:
`pytest --hypothesis-profile=search`.
"""

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.register_profile("search", deadline=None, max_examples=5000)
