"""The kernel: mailboxes, actors, slots, locks, the event bus, clocks. Law: it knows nothing of boards, agents or git."""
