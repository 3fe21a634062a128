"""What bodies may hold, and the examples that the documentation shows."""

from typing import Annotated, Any, Final, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from starlette.datastructures import QueryParams

from gateway.api.dependencies import as_object
from gateway.api.errors import validation_problem

MAX_SEARCH_RESULTS: Final = 100

Query = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Body = TypeVar("Body", bound=BaseModel)


class SearchBody(BaseModel):
    """A search: one need or several, and what to look through."""

    model_config = ConfigDict(extra="forbid", strict=True)

    query: Query | None = Field(None, description="One need: 'refund an order', or a tool's exact name.")
    queries: list[Query] | None = Field(
        None, min_length=1, max_length=5, description="One to five needs; the places are shared among them."
    )
    max_results: int = Field(5, ge=1, le=MAX_SEARCH_RESULTS)
    namespace: Name | None = Field(None, description="Only this namespace.")
    namespaces: list[Name] | None = Field(None, min_length=1, max_length=100, description="Only these namespaces.")
    tags: list[Name] = Field(default_factory=list, max_length=20, description="A tool must carry all of them.")
    worth_share: float = Field(
        0.0,
        ge=0,
        le=1,
        description="Only tools whose score is at least this share of the best one's, 0 to 1; 0: all of them.",
    )
    min_confidence: float = Field(
        0.0, ge=0, le=1, description="Only matches at least so confident, 0 to 1; weak ones lie below one half."
    )
    collapse_duplicates: bool = Field(
        True,
        description="One place for a tool that several namespaces or parents hold; the others stand under also_in and "
        "also_as.",
    )

    @model_validator(mode="after")
    def _one_way_to_ask(self) -> "SearchBody":
        if (self.query is None) == (self.queries is None):
            raise ValueError("give either query (one need) or queries (a list of one to five)")
        if self.namespace is not None and self.namespaces is not None:
            raise ValueError("give either namespace or namespaces")
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.queries) if self.queries is not None else (self.query or "",)

    @property
    def wanted_namespaces(self) -> list[str] | None:
        return [self.namespace] if self.namespace is not None else self.namespaces


class ListQuery(BaseModel):
    """The query of a list of tools."""

    model_config = ConfigDict(extra="forbid")

    namespace: list[Name] = Field(default_factory=list, description="Only these namespaces; may be repeated.")
    tag: list[Name] = Field(default_factory=list, description="A tool must carry all of them; may be repeated.")
    offset: int = Field(0, ge=0)
    limit: int = Field(100, ge=1, le=10_000)
    quarantined: bool = Field(False, description="Only those in quarantine, with the reason.")
    pinned: bool = Field(False, description="Only those that every request shows.")


def checked_query(kind: type[Body], query: QueryParams) -> Body:
    """A query as its model; what the model takes as a list may be repeated. Raises: ProblemError (422)."""
    values: dict[str, Any] = {}
    for name in query:
        field = kind.model_fields.get(name)
        is_list = field is not None and get_origin(field.annotation) is list
        values[name] = query.getlist(name) if is_list else query[name]
    return checked(kind, values)


def checked(kind: type[Body], body: object) -> Body:
    """A parsed body as its model. Raises: ProblemError (422) with every fault and its place."""
    try:
        return kind.model_validate(as_object(body))
    except ValidationError as error:
        raise validation_problem([dict(fault) for fault in error.errors(include_url=False)]) from None


TOOL_EXAMPLE: Final[dict[str, Any]] = {
    "name": "refund_order",
    "namespace": "shop",
    "description": "Refund a paid order, in full or in part. Use it after the customer has agreed to the amount.",
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "The order's number, such as A-1042."},
            "amount": {"type": "number", "description": "What to pay back; all of it unless said."},
        },
        "required": ["order_id"],
    },
    "tags": ["orders"],
    "example_queries": ["give the customer their money back"],
}

CHAT_EXAMPLE: Final[dict[str, Any]] = {
    "model": "any",
    "messages": [{"role": "user", "content": "Which S3 buckets do I have?"}],
    "stream": False,
}

OPENAI_TOOL_EXAMPLE: Final[dict[str, Any]] = {
    "type": "function",
    "function": {
        "name": TOOL_EXAMPLE["name"],
        "description": TOOL_EXAMPLE["description"],
        "parameters": TOOL_EXAMPLE["input_schema"],
    },
}


def json_request(
    schema: dict[str, Any], examples: dict[str, Any], *, media_type: str = "application/json"
) -> dict[str, Any]:
    """The OpenAPI entry of a body that the route reads itself; examples by their summary."""
    shown = {
        f"example{place}": {"summary": summary, "value": value}
        for place, (summary, value) in enumerate(examples.items(), start=1)
    }
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema, "examples": shown}}}}


def query_parameters(kind: type[BaseModel]) -> dict[str, Any]:
    """The OpenAPI entry of a query that the route checks itself."""
    properties: dict[str, dict[str, Any]] = kind.model_json_schema()["properties"]
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": schema} for name, schema in properties.items()
        ]
    }


def path_parameters(**descriptions: str) -> dict[str, Any]:
    """The OpenAPI entry of a path that the route reads itself."""
    return {
        "parameters": [
            {"name": name, "in": "path", "required": True, "description": text, "schema": {"type": "string"}}
            for name, text in descriptions.items()
        ]
    }
