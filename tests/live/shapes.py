# SPDX-License-Identifier: MIT
"""docs/openapi.json as a test: which paths there are, and whether an answer has the shape that is
documented. Members that are not documented are a mistake too."""
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
with open(os.path.join(ROOT, "docs/openapi.json"), encoding="utf-8") as _file:
    DOCUMENT = json.load(_file)

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float)}


def get_paths():
    """Those that answer with JSON."""
    return [path for path, item in DOCUMENT["paths"].items()
            if "application/json" in item.get("get", {}).get("responses", {}).get("200", {}).get(
                "content", {})]


def _resolve(schema):
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def problems(value, schema, where="$"):
    schema = _resolve(schema)
    if "oneOf" in schema:
        fits = [s for s in schema["oneOf"] if not problems(value, s, where)]
        return [] if len(fits) == 1 else ["%s: fits %d of the choices" % (where, len(fits))]
    if value is None:
        return [] if schema.get("nullable") else [where + ": null"]
    wanted = TYPES[schema["type"]]
    if not isinstance(value, wanted) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return ["%s: %r is no %s" % (where, value, schema["type"])]
    if "enum" in schema and value not in schema["enum"]:
        return ["%s: %r is none of %s" % (where, value, schema["enum"])]
    found = []
    if schema["type"] == "array":
        for i, item in enumerate(value):
            found += problems(item, schema["items"], "%s[%d]" % (where, i))
    elif schema["type"] == "object":
        known = schema.get("properties", {})
        found += ["%s.%s: missing" % (where, name) for name in schema.get("required", [])
                  if name not in value]
        found += ["%s.%s: not documented" % (where, name) for name in value if name not in known]
        for name, item in value.items():
            if name in known:
                found += problems(item, known[name], "%s.%s" % (where, name))
    return found


def schema_of(path, method="get", status="200"):
    content = DOCUMENT["paths"][path][method]["responses"][status]["content"]
    return content["application/json"]["schema"]


def check_get(client, path, query=""):
    """What is wrong with the answer, at most five things."""
    status, headers, body = client.ask("GET", path + query)
    if status != 200:
        return ["%d: %s" % (status, body[:200])]
    if headers.get("Content-Type") != "application/json; charset=utf-8":
        return ["Content-Type: %s" % headers.get("Content-Type")]
    return problems(json.loads(body), schema_of(path))[:5]
