"""The pull request bot: one comment that is right, short, single, and quiet when there is nothing to say.

``event`` tells which pull request; ``client`` talks to GitHub; ``brief`` is what there is to say; ``state`` is what the
comment remembers; ``ack`` reads acknowledgements; ``comment`` writes the text; ``upsert`` keeps exactly one comment.
"""
