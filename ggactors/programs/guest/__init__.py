"""What runs inside the sandbox: the bootstraps and SDKs of each language, read as text and never imported."""
