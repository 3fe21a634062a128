"""Words of a conversation: messages, prompts, requests and responses."""
