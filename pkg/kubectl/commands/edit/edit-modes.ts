import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import type { Invocation } from "../../command/command.ts"
import type { FieldValidation } from "../../command/shared-flags.ts"
import { LAST_APPLIED } from "../../last-applied.ts"
import { mergeDiff } from "../../patch/merge-patch.ts"
import { strategicDiff } from "../../patch/strategic-diff.ts"
import type { PatchType } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import { goJson, withoutVersion, type Unstructured } from "../../rest/json.ts"
import type { GroupVersionKind } from "../../rest/rest-mapper.ts"

/** What is done with objects that have been edited. Source: kubectl pkg/cmd/util/editor/editoptions.go. */
export type EditMode = "patch" | "create" | "last-applied"

export interface EditParts extends Pick<Invocation, "factory" | "environment" | "out" | "errOut"> {
  readonly mode: EditMode
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  readonly subresource: string
  /** The namespace of the command line. */
  readonly namespace: string
  readonly outputPatch: boolean
  readonly windowsLineEndings: boolean
  /** The format that objects are edited in. */
  readonly output: string
  /** Makes an edited object what is sent: with annotations. */
  annotate(object: Unstructured): Unstructured
  print(operation: string, object: Unstructured): Promise<void>
}

/** Types that upstream's program does not know, so that it sends no strategic patch of them. */
const UNKNOWN_GROUPS: ReadonlySet<string> = new Set(["apiextensions.k8s.io", "apiregistration.k8s.io"])

/**
 * Sends what has been edited in an object.
 * @param refused is told of a patch that the server does not take
 */
export async function sendEdited(
  info: Info,
  originals: readonly Info[],
  parts: EditParts,
  refused: (err: unknown, info: Info) => Promise<void>,
): Promise<void> {
  const { mode, fieldManager, fieldValidation, subresource } = parts
  const edited = info.loaded
  if (mode === "create") {
    const options = { fieldManager, fieldValidation }
    info.refresh(await info.helper.create(info.namespace, withoutVersion(edited), options))
    return parts.print("created", info.loaded)
  }
  const uid = edited.metadata?.uid ?? ""
  const original = originals.find(({ object }) => (object?.metadata?.uid ?? "") === uid)
  if (original === undefined) throw new Error(`no original object found for ${goJson(edited)}`)
  if (deepEqual(original.loaded, edited)) return parts.print("skipped", edited)
  const options = { fieldManager, fieldValidation, subresource }
  if (mode === "last-applied") {
    const patch = lastAppliedPatch(edited)
    await info.helper.patch(parts.namespace, info.name, "application/merge-patch+json", patch, options)
    return parts.print("edited", edited)
  }
  const { type, patch } = await patchOf(original.loaded, edited, info.mapping.kind)
  if (parts.outputPatch) await parts.out.write(`Patch: ${patch}\n`)
  let patched: Unstructured
  try {
    patched = await info.helper.patch(info.namespace, info.name, type, patch, options)
  } catch (err) {
    return refused(err, info)
  }
  info.refresh(patched)
  await parts.print("edited", patched)
}

/** Returns the patch that keeps an object in its annotation. */
function lastAppliedPatch(object: Unstructured): string {
  const annotations = { ...object.metadata?.annotations, [LAST_APPLIED]: `${goJson(object)}\n` }
  const after = { ...object, metadata: { ...object.metadata, annotations } }
  return goJson(mergeDiff(object as Record<string, unknown>, after))
}

/** @throws Error when what identifies the object has been edited */
async function patchOf(
  original: Unstructured,
  edited: Unstructured,
  kind: GroupVersionKind,
): Promise<{ readonly type: PatchType; readonly patch: string }> {
  const [before, after] = [original, edited] as unknown as readonly Record<string, unknown>[]
  const { builtinMeta } = await import("../../patch/builtin-meta.ts")
  const fields = UNKNOWN_GROUPS.has(kind.group) ? undefined : await builtinMeta(kind)
  const patch =
    fields === undefined
      ? mergeDiff(before!, after!)
      : strategicDiff(before!, after!, fields, { changes: true, deletions: true, order: true })
  const { metadata } = patch
  if ("apiVersion" in patch || "kind" in patch || (isJsonObject(metadata) && "name" in metadata))
    throw new Error("At least one of apiVersion, kind and name was changed")
  const type = fields === undefined ? "application/merge-patch+json" : "application/strategic-merge-patch+json"
  return { type, patch: goJson(patch) }
}
