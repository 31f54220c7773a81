"""Patches of what an image ships, and the waivers that excuse them.

``policy`` says what is forbidden, ``detect`` finds it in a change or a tree (``shell``, ``values`` and
``python`` read the two languages that patches are written in), ``coverage`` holds it against waivers,
``baseline`` against the patches from before the policy, ``audit`` does so for a whole tree, and
``draft`` writes a waiver to begin with.
"""
