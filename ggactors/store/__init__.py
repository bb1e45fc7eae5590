"""What a run keeps on disk: its journal, its folder, its locks, and which crews the operator has said yes to."""
