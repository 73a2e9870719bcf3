"""The faces: the command line, the static site, and the benchmark folder they open."""
