"""Reports → text: one module a format. Nothing here decides, reads or writes anything."""
