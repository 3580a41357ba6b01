"""What tests of more than one folder share. `pythonpath` in pyproject.toml makes it importable."""
