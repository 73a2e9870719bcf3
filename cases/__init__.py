"""Cases: the public package that a Candidate sees, and how it is frozen from a real page or a merged change."""
