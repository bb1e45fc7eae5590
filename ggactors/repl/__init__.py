"""The prompt: a person and a crew at one terminal. Law: the one door to prompt_toolkit; asyncio lives in its own thread here.

trio keeps the main thread; one thread beside it runs prompt_toolkit's loop and owns the terminal. What is to be shown goes
to that thread as lines, what is typed comes back as records, and nothing else crosses.
"""
