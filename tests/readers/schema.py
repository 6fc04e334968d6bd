"""Validates JSON files against a schema: schema.py SCHEMA FILE... Prints how many there are."""
import json
import sys

import fastjsonschema

validate = fastjsonschema.compile(json.load(open(sys.argv[1])))
for name in sys.argv[2:]:
    try:
        validate(json.load(open(name)))
    except fastjsonschema.JsonSchemaException as error:
        sys.exit(f"{name}: {error}")
json.dump(len(sys.argv) - 2, sys.stdout)
