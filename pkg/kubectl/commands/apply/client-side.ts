import { withSource } from "../../errors/source.ts"
import { isNotFound } from "../../errors/status-error.ts"
import { annotated, LAST_APPLIED, lastApplied } from "../../last-applied.ts"
import type { Info } from "../../resource/info.ts"
import { withoutVersion, type Unstructured } from "../../rest/json.ts"
import { report, warnIfDeleting, type ApplyOptions } from "./apply-options.ts"
import { patchCurrent } from "./patcher.ts"

/**
 * Applies an object: creates it, or patches what the configuration changes. `visited` is called with the UID of each
 * object that is there. Source: kubectl pkg/cmd/apply/apply.go (applyOneObject).
 */
export async function applyClientSide(
  info: Info,
  options: ApplyOptions,
  visited: (uid: string) => void,
): Promise<void> {
  const configuration = info.loaded
  const described = info.text
  const modified = annotated(configuration)
  try {
    await info.get()
  } catch (err) {
    if (!isNotFound(err))
      throw withSource(`retrieving current configuration of:\n${described}\nfrom server for:`, info.source, err)
    return create(info, modified, options, visited)
  }
  visited(info.loaded.metadata?.uid ?? "")
  if (lastApplied(info.loaded) === undefined)
    await options.errOut.write(
      `Warning: resource ${info.objectName} is missing the ${LAST_APPLIED} annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.\n`,
    )
  const { patch, object } = await patchCurrent(info, modified, options)
  info.refresh(object)
  await warnIfDeleting(info, options.errOut)
  await report(info, patch === "{}" ? "unchanged" : "configured", options)
}

async function create(
  info: Info,
  modified: Unstructured,
  options: ApplyOptions,
  visited: (uid: string) => void,
): Promise<void> {
  // The annotation keeps the nulls, which a patch of the same configuration would send, but a new object has none.
  info.object = withoutNulls(modified) as Unstructured
  if (options.dryRun !== "client")
    try {
      const { fieldManager, fieldValidation, dryRun } = options
      info.refresh(
        await info.helper.create(info.namespace, withoutVersion(info.object), {
          fieldManager,
          fieldValidation,
          serverDryRun: dryRun === "server",
        }),
      )
    } catch (err) {
      throw withSource("creating", info.source, err)
    }
  visited(info.loaded.metadata?.uid ?? "")
  await report(info, "created", options)
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== "object" || value === null || "toJSON" in value) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([key, inner]) => [key, withoutNulls(inner)]),
  )
}
