"""The store: immutable bytes named by their SHA-256, and the error tree shared by every floor above."""
