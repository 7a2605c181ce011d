import { applyJsonPatch } from "../../../apimachinery/patch/json.ts"
import { applyMergePatch } from "../../../apimachinery/patch/merge.ts"
import { jsonFault } from "../../../apimachinery/json/json-fault.ts"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { stringFlag, type FlagValues } from "../../command/flag.ts"
import { builtinResource } from "../../patch/builtin-meta.ts"
import { typedForm } from "../../printers/typed-form.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"
import { parseGroupVersion, parseJson, type Unstructured } from "../../rest/json.ts"

/** `--overrides`, by which a user changes an object that a command makes. Source: kubectl pkg/cmd/util/override_options.go. */
export const overrideFlags = () => ({
  overrides: stringFlag("", "JSON that changes the object before it is created. It must have a valid apiVersion."),
  "override-type": stringFlag("merge", "How the object is changed: json, merge, or strategic."),
})

/** @throws Error for text that is no JSON, and types that there are not */
export async function overridden(
  object: Unstructured,
  { overrides, "override-type": type }: FlagValues<ReturnType<typeof overrideFlags>>,
): Promise<Unstructured> {
  if (overrides === "") return object
  const changed = await patched(object, type === "" ? "merge" : type, overrides)
  const { checkTyped } = await import("../../resource/typed-scheme.ts")
  await checkTyped(changed, KUBECTL_SCHEME)
  return typedForm(changed)
}

async function patched(object: Unstructured, type: string, text: string): Promise<Unstructured> {
  if (type === "merge") return applyMergePatch(object, jsonOf(text, "Invalid JSON Patch")) as Unstructured
  if (type === "json") return applyJsonPatch(object, jsonOf(text)) as Unstructured
  if (type !== "strategic") throw new Error(`invalid override type: ${type}`)
  const { applyStrategicMergePatch } = await import("../../../apimachinery/patch/strategic.ts")
  const resource = await builtinResource({ ...parseGroupVersion(object.apiVersion ?? ""), kind: object.kind ?? "" })
  if (resource === undefined) throw new Error(`unknown kind ${goQuoted(object.kind ?? "")}`)
  return applyStrategicMergePatch(resource.schema, object, jsonOf(text, "invalid JSON document")) as Unstructured
}

/** `problem` is what is said of text that is no JSON; without it, what Go's decoder says. */
function jsonOf(text: string, problem?: string): unknown {
  try {
    return parseJson(text)
  } catch (err) {
    throw new Error(problem ?? jsonFault(text), { cause: err })
  }
}
