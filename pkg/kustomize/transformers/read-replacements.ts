import { pushAll } from "../../lists/push-all.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { isJsonObject } from "../../apimachinery/json/json-value.ts"
import { decode } from "../go/decode.ts"
import type { Replacement, ReplacementField } from "../kustomization/kustomization.ts"
import { REPLACEMENT } from "../kustomization/shapes.ts"
import type { FileLoader } from "../loader/file-loader.ts"

/** Returns the replacements of a kustomization, and those in the files that it names. */
export async function readReplacements(
  given: readonly ReplacementField[],
  loader: FileLoader,
): Promise<readonly Replacement[]> {
  const all: Replacement[] = []
  for (const { path = "", ...replacement } of given) {
    if (path === "") {
      all.push(replacement)
      continue
    }
    if (replacement.source !== undefined || (replacement.targets ?? []).length > 0)
      throw new Error("cannot specify both path and inline replacement")
    const { value } = parseYaml(await loader.loadText(path))
    const shape = Array.isArray(value) ? { list: REPLACEMENT } : REPLACEMENT
    if (!Array.isArray(value) && !isJsonObject(value))
      throw new Error(`unsupported replacement type encountered within replacement path: ${kindOf(value)}`)
    const decoded = decode(value, shape, { coerces: true })
    pushAll(all, Array.isArray(decoded) ? (decoded as Replacement[]) : [decoded as Replacement])
  }
  return all
}

/** Returns the name of a value's kind in Go's package reflect. */
const kindOf = (value: unknown): string =>
  value === null || value === undefined
    ? "invalid"
    : typeof value === "number"
      ? "float64"
      : typeof value === "boolean"
        ? "bool"
        : "string"
