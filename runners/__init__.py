"""The runners: they make attempts in the sandbox, and append what happened."""
