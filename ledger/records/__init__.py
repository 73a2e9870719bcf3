"""Records: signed, schema-checked statements about objects."""
