import { errorMessage } from "../../../errors/error-message.ts"
import type { Factory } from "../../factory/factory.ts"
import { lastApplied } from "../../last-applied.ts"
import { Helper } from "../../resource/helper.ts"
import type { Unstructured } from "../../rest/json.ts"
import { gvkText, type RestMapper, type RestMapping } from "../../rest/rest-mapper.ts"
import type { ApplyOptions } from "./apply-options.ts"

/** A kind that is looked for objects to remove. Source: kubectl pkg/util/prune/prune.go. */
export interface PruneResource {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly namespaced: boolean
}

const kind = (group: string, version: string, name: string, namespaced = true): PruneResource => ({
  group,
  version,
  kind: name,
  namespaced,
})

const DEFAULTS: readonly PruneResource[] = [
  kind("", "v1", "ConfigMap"),
  kind("", "v1", "Endpoints"),
  kind("", "v1", "PersistentVolumeClaim"),
  kind("", "v1", "Pod"),
  kind("", "v1", "ReplicationController"),
  kind("", "v1", "Secret"),
  kind("", "v1", "Service"),
  kind("batch", "v1", "Job"),
  kind("batch", "v1", "CronJob"),
  kind("networking.k8s.io", "v1", "Ingress"),
  kind("apps", "v1", "DaemonSet"),
  kind("apps", "v1", "Deployment"),
  kind("apps", "v1", "ReplicaSet"),
  kind("apps", "v1", "StatefulSet"),
  kind("", "v1", "Namespace", false),
  kind("", "v1", "PersistentVolume", false),
]

/** Reads `--prune-allowlist`. @throws Error for a text that is not group/version/kind, or a kind that there is not */
export async function parsePruneResources(
  restMapper: () => Promise<RestMapper>,
  texts: readonly string[],
): Promise<readonly PruneResource[]> {
  const found: PruneResource[] = []
  for (const text of texts) {
    const [group, version, name, more] = text.split("/")
    if (group === undefined || version === undefined || name === undefined || more !== undefined)
      throw new Error(`invalid GroupVersionKind format: ${text}, please follow <group/version/kind>`)
    const real = group === "core" ? "" : group
    const { namespaced } = await (await restMapper()).restMapping(real, name, version)
    found.push(kind(real, version, name, namespaced))
  }
  return found
}

/** What was applied, which is not removed. */
export interface Visited {
  readonly uids: ReadonlySet<string>
  readonly namespaces: ReadonlySet<string>
}

/**
 * Removes the objects that were applied before, match the selector, and are not among those of this apply. Source:
 * kubectl pkg/cmd/apply/prune.go.
 */
export const pruneAll = (
  options: ApplyOptions,
  resources: readonly PruneResource[],
  labelSelector: string,
  visited: Visited,
): Promise<void> =>
  visitPruned({ factory: options.factory, resources, labelSelector, visited }, (mapping, namespace, object) =>
    removePruned(options, mapping, namespace, object),
  )

/** Where objects are looked for that are no longer applied. */
export interface PruneScope {
  readonly factory: Factory
  /** None: those that are looked at by default. */
  readonly resources: readonly PruneResource[]
  readonly labelSelector: string
  readonly visited: Visited
}

/** What is done with an object that is no longer applied. */
type VisitPruned = (mapping: RestMapping, namespace: string, object: Unstructured) => Promise<void>

/** Visits the objects that were applied before, match the selector, and are not among those of this run. */
export async function visitPruned(scope: PruneScope, visit: VisitPruned): Promise<void> {
  const { factory, resources, visited } = scope
  const restMapper = await factory.restMapper()
  const { namespace } = await factory.namespace()
  if (resources.length === 0 && namespace !== "")
    factory.log.warning(
      "Deprecated: kubectl apply will no longer prune non-namespaced resources by default when used with the --namespace flag in a future release. To preserve the current behaviour, list the resources you want to target explicitly in the --prune-allowlist flag.",
      "prune.go:71",
    )
  const mappings: RestMapping[] = []
  for (const one of resources.length === 0 ? DEFAULTS : resources)
    try {
      mappings.push(await restMapper.restMapping(one.group, one.kind, one.version))
    } catch (err) {
      const text = `${one.group}/${one.version}, Kind=${one.kind}, Namespaced=${one.namespaced}`
      throw new Error(`error retrieving RESTMappings to prune: invalid resource ${text}: ${errorMessage(err)}`, {
        cause: err,
      })
    }
  const inNamespaces = mappings.filter((mapping) => mapping.namespaced)
  for (const place of visited.namespaces)
    for (const mapping of inNamespaces)
      await visitKind(scope, mapping, { namespace: place, failure: "error pruning namespaced object" }, visit)
  for (const mapping of mappings)
    if (!mapping.namespaced)
      await visitKind(scope, mapping, { namespace: "", failure: "error pruning nonNamespaced object" }, visit)
}

async function visitKind(
  { factory, labelSelector, visited }: PruneScope,
  mapping: RestMapping,
  { namespace, failure }: { readonly namespace: string; readonly failure: string },
  visit: VisitPruned,
): Promise<void> {
  try {
    const helper = await helperOf(factory, mapping)
    const list = await helper.list(namespace, { labelSelector })
    for (const object of (list["items"] ?? []) as readonly Unstructured[])
      if (lastApplied(object) !== undefined && !visited.uids.has(object.metadata?.uid ?? ""))
        await visit(mapping, namespace, object)
  } catch (err) {
    throw new Error(`${failure} ${gvkText(mapping.kind)}: ${errorMessage(err)}`, { cause: err })
  }
}

export const helperOf = async (factory: Factory, mapping: RestMapping): Promise<Helper> =>
  new Helper(await factory.client(), mapping)

/** Deletes an object that is no longer applied, and says so. */
export async function removePruned(
  options: ApplyOptions,
  mapping: RestMapping,
  namespace: string,
  object: Unstructured,
): Promise<void> {
  const { dryRun, gracePeriod, propagation, out } = options
  if (dryRun !== "client") {
    const body = { ...(gracePeriod < 0 ? {} : { gracePeriodSeconds: gracePeriod }), propagationPolicy: propagation }
    const helper = await helperOf(options.factory, mapping)
    await helper.delete(namespace, object.metadata?.name ?? "", body, { serverDryRun: dryRun === "server" })
  }
  const { group, version } = mapping.kind
  const apiVersion = group === "" ? version : `${group}/${version}`
  await (await options.printer("pruned")).print({ apiVersion, kind: mapping.kind.kind, ...object }, out)
}
