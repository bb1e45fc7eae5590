"""Models behind one port: scripted ones today."""
