"""The Protocol Buffers endpoints: messages and answers."""
