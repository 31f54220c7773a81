"""Git repositories that nobody vouches for.

``process`` starts git, and no other module does; ``names`` has what git calls things, ``records`` reads what its
plumbing writes, ``objects`` asks one running process for many objects. On these stand ``repository``, which
answers questions about a clone, and ``mirror``, the only one that may reach a network.
"""
