import { STRING } from "../type.ts"
import { declare, overload, type FunctionDeclaration } from "./declare.ts"

/** The function that escapes keys, for mutating policies only. Source: apiserver pkg/cel/library/jsonpatch.go. */
export const JSON_PATCH_FUNCTIONS: readonly FunctionDeclaration[] = [
  declare("jsonpatch.escapeKey", [
    overload("string_jsonpatch_escapeKey_string", [STRING], STRING, (key: string) =>
      key.replaceAll("~", "~0").replaceAll("/", "~1"),
    ),
  ]),
]
