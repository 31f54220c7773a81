"""Whoosh, as far as it is used, without its warnings."""

import warnings

with warnings.catch_warnings():
    # Whoosh's regular expressions in plain strings and its `is 0` are compiled with warnings that
    # no user can do anything about. Everything that it would import later on is imported here.
    warnings.simplefilter("ignore")
    import whoosh.filedb.compound
    import whoosh.matching.wrappers  # noqa: F401
    from whoosh.codec.whoosh3 import W3Codec, W3Segment
    from whoosh.fields import STORED, FieldType, Schema
    from whoosh.filedb.filestore import FileStorage
    from whoosh.formats import Existence
    from whoosh.lang.porter import stem
    from whoosh.reading import SegmentReader, TermNotFound
    from whoosh.util.filelock import FileLock, try_for
    from whoosh.writing import SegmentWriter

__all__ = [
    "STORED",
    "Existence",
    "FieldType",
    "FileLock",
    "FileStorage",
    "Schema",
    "SegmentReader",
    "SegmentWriter",
    "TermNotFound",
    "W3Codec",
    "W3Segment",
    "stem",
    "try_for",
]
