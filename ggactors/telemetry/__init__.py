"""What a run tells about itself: events as JSON lines, and what is folded and rendered from them (T1, T2)."""
