"""Agents: one adapter a module, each saying how an entry's agent is started inside the Candidate's container."""
