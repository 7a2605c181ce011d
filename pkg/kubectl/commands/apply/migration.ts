import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { isJsonObject } from "../../../apimachinery/json/json-value.ts"
import { isConflict } from "../../errors/status-error.ts"
import { LAST_APPLIED, lastApplied } from "../../last-applied.ts"
import type { Info } from "../../resource/info.ts"
import { goJson, groupVersionText } from "../../rest/json.ts"
import type { ApplyOptions } from "./apply-options.ts"

/** The field manager of server-side apply, and the one that keeps the annotation then. */
export const SERVER_SIDE_MANAGER = "kubectl"
const ANNOTATION_MANAGER = "kubectl-last-applied"
const MOST_RETRIES = 5

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly subresource?: string
  readonly fieldsV1?: Readonly<Record<string, unknown>>
}

const managedFieldsOf = ({ loaded }: Info): readonly ManagedFields[] =>
  (loaded.metadata?.managedFields ?? []) as readonly ManagedFields[]

/** The managers that have the annotation by an operation. Source: client-go util/csaupgrade/upgrade.go. */
function ownersOfAnnotation(info: Info, operation: "Apply" | "Update"): readonly ManagedFields[] {
  const path = ["f:metadata", "f:annotations", `f:${LAST_APPLIED}`]
  return managedFieldsOf(info).filter(
    (entry) =>
      entry.operation === operation &&
      path.reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), entry.fieldsV1) !== undefined,
  )
}

/**
 * Gives the annotation of client-side apply a manager of its own, or the first server-side apply would remove it.
 * Source: kubectl pkg/cmd/apply/apply.go (saveLastApplyAnnotationIfNecessary).
 */
export async function keepAnnotation(
  info: Info,
  { fieldManager, fieldValidation, dryRun }: ApplyOptions,
): Promise<void> {
  if (fieldManager !== SERVER_SIDE_MANAGER) return
  const text = lastApplied(info.loaded)
  if (text === undefined || ownersOfAnnotation(info, "Apply").length > 0) return
  const { group, version, kind } = info.mapping.kind
  const { name, namespace } = info.loaded.metadata ?? {}
  const body = {
    apiVersion: groupVersionText(group, version),
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), annotations: { [LAST_APPLIED]: text } },
  }
  info.refresh(
    await info.helper.patch(info.namespace, info.name, "application/apply-patch+yaml", `${goJson(body)}\n`, {
      fieldManager: ANNOTATION_MANAGER,
      fieldValidation,
      serverDryRun: dryRun === "server",
    }),
  )
}

/**
 * Gives the fields of client-side apply to the manager of server-side apply. Returns whether there were any. Source:
 * kubectl pkg/cmd/apply/apply.go (migrateToSSAIfNecessary).
 */
export async function migrate(info: Info, options: ApplyOptions): Promise<boolean> {
  const managers = new Set(ownersOfAnnotation(info, "Update").map(({ manager = "" }) => manager))
  for (let attempt = 1; ; attempt++) {
    const before = managedFieldsOf(info)
    const after = [...managers].sort().reduce((all, manager) => upgraded(all, manager, options.fieldManager), before)
    if (deepEqual(before, after)) return false
    const patch = [
      { op: "replace", path: "/metadata/managedFields", value: after },
      { op: "replace", path: "/metadata/resourceVersion", value: info.loaded.metadata?.resourceVersion ?? "" },
    ]
    const { fieldManager, fieldValidation, dryRun } = options
    try {
      info.refresh(
        await info.helper.patch(info.namespace, info.name, "application/json-patch+json", goJson(patch), {
          fieldManager,
          fieldValidation,
          serverDryRun: dryRun === "server",
        }),
      )
      return true
    } catch (err) {
      if (!isConflict(err) || attempt >= MOST_RETRIES) throw err
      await info.get()
    }
  }
}

const isUpdateOf = (manager: string) => (entry: ManagedFields) =>
  entry.manager === manager && entry.operation === "Update" && (entry.subresource ?? "") === ""

/** Merges the entry of a client's manager into that of the server's, which it becomes if there is none. */
function upgraded(entries: readonly ManagedFields[], client: string, server: string): readonly ManagedFields[] {
  const isServer = (entry: ManagedFields) =>
    entry.manager === server && entry.operation === "Apply" && (entry.subresource ?? "") === ""
  let place = entries.findIndex(isServer)
  if (place === -1) place = entries.findIndex(isUpdateOf(client))
  const target = entries[place]
  if (target === undefined) return entries
  const added = entries.find((entry) => isUpdateOf(client)(entry) && entry.apiVersion === target.apiVersion)
  const fieldsV1 = united(target.fieldsV1 ?? {}, added?.fieldsV1 ?? {})
  const merged = { ...target, manager: server, operation: "Apply", fieldsV1 }
  return entries.map((entry, i) => (i === place ? merged : entry)).filter((entry) => !isUpdateOf(client)(entry))
}

/** The fields that are in one of two sets. */
function united(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const all: Record<string, unknown> = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const own = all[key]
    all[key] = isJsonObject(own) && isJsonObject(value) ? united(own, value) : value
  }
  return all
}
