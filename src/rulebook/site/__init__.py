"""The documentation site: pages, look-up data and feeds, made from a knowledge base by a plugin of MkDocs.

Needs the extra ``site``. What each module does: ``docs/site.md``.
"""
