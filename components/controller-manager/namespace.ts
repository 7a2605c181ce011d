import { ApiError, isConflict, isNotFound, isReason } from "../../pkg/apimachinery/errors.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { FINALIZER_KUBERNETES, Namespace, type NamespaceCondition } from "../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { timestamp } from "../../pkg/clock/clock.ts"
import { defineController, type Controller, type ReconcileContext } from "../../pkg/controller/controller.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"

/**
 * Delay before a namespace that is not empty is checked again; pods have their grace period. Source:
 * namespaced_resources_deleter.go.
 */
const LOOK_AGAIN_MS = 15_000

/** The remaining objects of one kind. */
interface Remaining {
  readonly resource: Resource
  readonly count: number
  readonly finalizers: ReadonlyMap<string, number>
}

/**
 * Deletes everything in namespaces that are being deleted, pods first (KEP-5080), then the namespaces. What delays a
 * deletion is shown in the namespace's conditions. Source: pkg/controller/namespace. `resources` returns the namespaced
 * kinds that can be deleted; `undiscovered` the versions, as `<group>/<version>`, whose kinds cannot be discovered:
 * while there are any, no namespace is removed, because objects could stay behind.
 */
export const namespaceController = (
  resources: () => readonly Resource[],
  undiscovered: () => readonly string[] = () => [],
): Controller<Namespace> =>
  defineController<Namespace>({
    name: "namespace-controller",
    reconciles: Namespace,
    // Pods end in their own time; a deletion usually waits for the last one.
    watches: [
      {
        resource: Pod,
        keys: (pod, { informers }, _old, deleted) =>
          deleted && informers.of(Namespace).get(pod.metadata.namespace ?? "")?.metadata.deletionTimestamp
            ? [pod.metadata.namespace ?? ""]
            : [],
      },
    ],
    async reconcile(key, context) {
      const { informers, client } = context
      const namespace = informers.of(Namespace).get(key)
      if (namespace?.metadata.deletionTimestamp === undefined) return
      if (!(namespace.spec.finalizers ?? []).includes(FINALIZER_KUBERNETES)) return

      const failures: string[] = []
      const hidden = undiscovered()
      let remaining = await empty(Pod, key, context, failures)
      // Other objects stay while pods run: pods may need their config, secrets and network policies to end properly.
      const others =
        remaining.length === 0
          ? resources().filter((resource) => resource.kind !== "Pod" && resource.verbs.includes("delete"))
          : []
      for (const resource of others) remaining = [...remaining, ...(await empty(resource, key, context, failures))]

      const marked = await writeConditions(namespace, { remaining, failures, hidden }, context)
      if (marked === undefined) return
      if (hidden.length > 0) throw new ApiError("ServiceUnavailable", discoveryFailure(hidden))
      if (failures.length > 0)
        throw new ApiError("InternalError", `Cannot empty namespace "${key}": ${failures.join("; ")}`)
      if (remaining.length > 0) return { requeueAfter: LOOK_AGAIN_MS }
      try {
        await client.updateSubresource(Namespace, { name: key }, "finalize", {
          ...marked,
          spec: {
            ...marked.spec,
            finalizers: (marked.spec.finalizers ?? []).filter((each) => each !== FINALIZER_KUBERNETES),
          },
        })
      } catch (err) {
        if (!isNotFound(err)) throw err
      }
    },
  })

/** Deletes all objects of one kind in a namespace, and returns what remains. */
async function empty(
  resource: Resource,
  namespace: string,
  { client }: ReconcileContext,
  failures: string[],
): Promise<readonly Remaining[]> {
  try {
    const before = await client.list(resource, { namespace })
    if (before.items.length === 0) return []
    const options = { propagationPolicy: "Background" } as const
    const whole = before.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    if (whole.length > 0 && resource.verbs.includes("deletecollection"))
      await client.deleteCollection(resource, { namespace }, options)
    else for (const { metadata } of whole) await deleted(client.delete(resource, metadata, options))
    const left = (await client.list(resource, { namespace })).items
    if (left.length === 0) return []
    const finalizers = new Map<string, number>()
    for (const finalizer of left.flatMap(({ metadata }) => metadata.finalizers ?? []))
      finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1)
    return [{ resource, count: left.length, finalizers }]
  } catch (err) {
    if (isReason(err, "NotFound", "MethodNotAllowed")) return []
    failures.push(`${resource.plural}: ${errorMessage(err)}`)
    return []
  }
}

/** A deletion of an object that is gone succeeds. */
const deleted = (deletion: Promise<unknown>): Promise<unknown> =>
  deletion.catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })

/** Source: client-go discovery ErrGroupDiscoveryFailed. */
const discoveryFailure = (hidden: readonly string[]): string =>
  "unable to retrieve the complete list of server APIs: " +
  hidden.map((version) => `${version}: stale GroupVersion discovery: ${version}`).join(", ")

/** The progress of emptying a namespace. */
interface Progress {
  readonly remaining: readonly Remaining[]
  readonly failures: readonly string[]
  /** Versions whose kinds cannot be discovered. */
  readonly hidden: readonly string[]
}

/** Writes the conditions. Returns the stored namespace; undefined when it is gone. */
async function writeConditions(
  namespace: Namespace,
  { remaining, failures, hidden }: Progress,
  { client, clock }: ReconcileContext,
): Promise<Namespace | undefined> {
  const content = remaining.map(
    ({ resource, count }) => `${resource.plural}.${resource.group} has ${count} resource instances`,
  )
  const finalizers = new Map<string, number>()
  for (const [name, count] of remaining.flatMap((each) => [...each.finalizers]))
    finalizers.set(name, (finalizers.get(name) ?? 0) + count)
  const waiting = [...finalizers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} in ${count} resource instances`)
  const states: readonly [
    type: string,
    bad: boolean,
    reason: string,
    message: string,
    fine: string,
    fineMessage: string,
  ][] = [
    [
      "NamespaceDeletionDiscoveryFailure",
      hidden.length > 0,
      "DiscoveryFailed",
      `Discovery failed for some groups, ${hidden.length} failing: ${discoveryFailure(hidden)}`,
      "ResourcesDiscovered",
      "All resources successfully discovered",
    ],
    [
      "NamespaceDeletionGroupVersionParsingFailure",
      false,
      "",
      "",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ],
    [
      "NamespaceDeletionContentFailure",
      failures.length > 0,
      "ContentDeletionFailed",
      `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(", ")}`,
      "ContentDeleted",
      "All content successfully deleted, may be waiting on finalization",
    ],
    [
      "NamespaceContentRemaining",
      content.length > 0,
      "SomeResourcesRemain",
      `Some resources are remaining: ${content.join(", ")}`,
      "ContentRemoved",
      "All content successfully removed",
    ],
    [
      "NamespaceFinalizersRemaining",
      waiting.length > 0,
      "SomeFinalizersRemain",
      `Some content in the namespace has finalizers remaining: ${waiting.join(", ")}`,
      "ContentHasNoFinalizers",
      "All content-preserving finalizers finished",
    ],
  ]
  const before = namespace.status.conditions ?? []
  const conditions: NamespaceCondition[] = states.map(([type, bad, reason, message, fine, fineMessage]) => {
    const old = before.find((condition) => condition.type === type)
    const next = {
      type,
      status: bad ? "True" : "False",
      reason: bad ? reason : fine,
      message: bad ? message : fineMessage,
    }
    return { ...next, lastTransitionTime: old?.status === next.status ? old.lastTransitionTime : timestamp(clock) }
  })
  const known = new Set(states.map(([type]) => type))
  const all = [...conditions, ...before.filter(({ type }) => !known.has(type))]
  if (namespace.status.phase === "Terminating" && JSON.stringify(all.map(plain)) === JSON.stringify(before.map(plain)))
    return namespace
  try {
    return await client.updateStatus(Namespace, {
      ...namespace,
      status: { ...namespace.status, phase: "Terminating", conditions: all },
    })
  } catch (err) {
    if (isNotFound(err)) return undefined
    if (isConflict(err)) return client.get(Namespace, { name: namespace.metadata.name })
    throw err
  }
}

const plain = ({ type, status, reason, message }: NamespaceCondition): unknown => [type, status, reason, message]
