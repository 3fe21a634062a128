"""A Qdrant server on the loopback interface, for tests: real REST requests, answered by the embedded engine."""

from tests.qdrant_stub.server import QdrantStub, StubServer

__all__ = ["QdrantStub", "StubServer"]
