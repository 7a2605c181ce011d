import { DaemonSet } from "../../../../pkg/api/apps/v1/daemonset.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { ApiError, isNamespaceEnding, isNotFound, isReason } from "../../../../pkg/apimachinery/errors.ts"
import { formatDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { ObjectRef } from "../../../../pkg/client/client.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { controllerOf } from "../../../../pkg/controller/owned.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import type { Reference } from "./selection.ts"
import type { TestClient } from "./test-client.ts"

/** The flags of `kubectl drain`. */
export interface DrainOptions {
  /** Evicts also pods without a controller that would replace them. */
  readonly force?: boolean
  /** Evicts also pods with emptyDir volumes, whose data are lost. */
  readonly deleteEmptyDirData?: boolean
  /**
   * Leaves pods of DaemonSets on the node. False refuses to drain a node that has some, as kubectl without
   * `--ignore-daemonsets`. True by default.
   */
  readonly ignoreDaemonSets?: boolean
  /** Replaces the pods' own grace periods. */
  readonly gracePeriodSeconds?: number
  /** How long to wait for budgets and for pods to end, in the cluster's time; 5m by default. */
  readonly within?: Duration
}

export interface Draining {
  readonly client: TestClient
  readonly clock: Clock
  /** Lets this many milliseconds of the cluster's time pass. */
  readonly pause: (ms: number) => Promise<void>
  /** Says how to replay the run. */
  readonly replay: string
}

/** Source of both: kubectl pkg/drain/drain.go (EvictErrorRetryDelay, waitForDelete). */
const RETRY_MS = 5_000
const LOOK_MS = 1_000
const MIRROR = "kubernetes.io/config.mirror"

/** A pod that is being evicted. */
interface Leaving {
  readonly pod: Pod
  evicted: boolean
  /** When to try again, and why the last attempt was refused. */
  nextTry: number
  refusal: string
}

/** Sets whether the scheduler may place pods on a node. */
export const setUnschedulable = (client: TestClient, node: Reference, unschedulable: boolean): Promise<Node> =>
  client.patch(Node, node, { type: "strategic", body: { spec: { unschedulable } } })

/** Evicts a pod. @throws ApiError TooManyRequests when a disruption budget does not allow it */
export const evictPod = (client: TestClient, pod: ObjectRef, gracePeriodSeconds?: number) =>
  client.createSubresource(Pod, pod, "eviction", {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: pod.name, namespace: pod.namespace },
    ...(gracePeriodSeconds === undefined ? {} : { deleteOptions: { gracePeriodSeconds } }),
  })

/**
 * Cordons a node, evicts its pods and waits until they are gone. Returns them. Source: kubectl pkg/drain, whose flags
 * are the `options`.
 * @throws TestClusterError with kubectl's message for pods that `options` do not allow to evict, and then none is
 * evicted; or after `within`, with what delays the pods
 */
export async function drain(
  node: Reference,
  { client, clock, pause, replay }: Draining,
  options: DrainOptions,
): Promise<readonly Pod[]> {
  const { metadata } = await setUnschedulable(client, node, true)
  const pods = await podsToEvict(metadata.name, client, options)
  const patience = milliseconds(options.within ?? "5m")
  const deadline = clock.now() + patience
  const failures: string[] = []
  let left: readonly Leaving[] = pods.map((pod) => ({ pod, evicted: false, nextTry: 0, refusal: "" }))
  for (;;) {
    const still: Leaving[] = []
    for (const leaving of left) {
      if (await isGone(client, leaving.pod)) continue
      const failure = await tryToEvict(leaving, client, clock, options)
      if (failure === undefined) still.push(leaving)
      else failures.push(failure)
    }
    left = still
    if (left.length === 0) break
    if (clock.now() >= deadline)
      throw new TestClusterError(
        [
          `Node ${JSON.stringify(metadata.name)} is not drained within ${formatDuration(patience)} (${replay})`,
          ...left.map(({ pod, refusal }) => `${nameOf(pod)} is still there${refusal === "" ? "" : `: ${refusal}`}`),
        ].join("\n  "),
        { reason: "Timeout" },
      )
    await pause(LOOK_MS)
  }
  if (failures.length > 0) throw new TestClusterError(failures.join("\n  "))
  return pods
}

/** Returns the error when the eviction failed for good. */
async function tryToEvict(
  leaving: Leaving,
  client: TestClient,
  clock: Clock,
  { gracePeriodSeconds }: DrainOptions,
): Promise<string | undefined> {
  if (leaving.evicted || clock.now() < leaving.nextTry) return undefined
  try {
    await evictPod(client, leaving.pod.metadata, gracePeriodSeconds)
    leaving.evicted = true
    leaving.refusal = ""
  } catch (err) {
    // A budget may allow it later; a namespace that is being deleted deletes the pod itself.
    if (!(err instanceof ApiError) || !(isReason(err, "TooManyRequests") || isNotFound(err) || isNamespaceEnding(err)))
      return `error when evicting pod ${nameOf(leaving.pod)}: ${errorMessage(err)}`
    leaving.refusal = err.message
    leaving.nextTry = clock.now() + RETRY_MS
  }
  return undefined
}

async function isGone(client: TestClient, { metadata }: Pod): Promise<boolean> {
  try {
    return (await client.get(Pod, { metadata })).metadata.uid !== metadata.uid
  } catch (err) {
    if (isNotFound(err)) return true
    throw err
  }
}

/** Source: kubectl pkg/drain/filters.go. */
async function podsToEvict(
  node: string | undefined,
  client: TestClient,
  options: DrainOptions,
): Promise<readonly Pod[]> {
  const { items } = await client.list(Pod, { fieldSelector: `spec.nodeName=${node}` })
  const refused = new Map<string, string[]>()
  const evicted: Pod[] = []
  for (const pod of items) {
    if (pod.metadata.annotations?.[MIRROR] !== undefined) continue
    const verdict = await judge(pod, client, options)
    if (verdict === "evict") evicted.push(pod)
    else if (verdict !== "stays") refused.set(verdict, [...(refused.get(verdict) ?? []), nameOf(pod)])
  }
  if (refused.size > 0)
    throw new TestClusterError(
      `Cannot drain node ${JSON.stringify(node)}: ` +
        `${[...refused].map(([why, names]) => `${why}: ${names.join(", ")}`).join("; ")}`,
    )
  return evicted
}

/** Returns whether a pod is evicted or stays, or why it prevents the drain. */
async function judge(
  pod: Pod,
  client: TestClient,
  { force = false, deleteEmptyDirData = false, ignoreDaemonSets = true }: DrainOptions,
): Promise<string> {
  const { spec, status } = pod
  if (status.phase === "Succeeded" || status.phase === "Failed") return "evict"
  const controller = controllerOf(pod)
  if (controller?.kind === "DaemonSet") {
    const { namespace } = pod.metadata
    try {
      await client.get(DaemonSet, { namespace, name: controller.name })
      return ignoreDaemonSets ? "stays" : "cannot delete DaemonSet-managed Pods (set ignoreDaemonSets to ignore)"
    } catch (err) {
      if (!isNotFound(err)) throw err
      if (!force) return err.message
    }
  }
  if (!deleteEmptyDirData && (spec.volumes ?? []).some(({ emptyDir }) => emptyDir !== undefined))
    return "cannot delete Pods with local storage (set deleteEmptyDirData to override)"
  if (controller === undefined && !force) return "cannot delete Pods that declare no controller (set force to override)"
  return "evict"
}

const nameOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`
