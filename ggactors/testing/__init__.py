"""The test kit, shipped with the product."""
