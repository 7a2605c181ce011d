import { fromLabels, fromLabelSelector } from "../../apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../apimachinery/meta.ts"
import { largest } from "../../lists/extremes.ts"
import type { Factory } from "../factory/factory.ts"
import { Helper } from "../resource/helper.ts"
import { parseGroupVersion, type Unstructured } from "../rest/json.ts"
import type { Pod } from "./pod.ts"

const PODS = {
  resource: { group: "", version: "v1", resource: "pods" },
  kind: { group: "", version: "v1", kind: "Pod" },
  namespaced: true,
}

export const podHelper = async (factory: Factory): Promise<Helper> => new Helper(await factory.client(), PODS)

/** The type in Go of an object, for messages: `*v1.ConfigMap`. */
export const goTypeOf = ({ apiVersion = "", kind = "" }: Unstructured): string =>
  `*${parseGroupVersion(apiVersion).version}.${kind}`

const BY_SELECTOR = new Set(["ReplicaSet", "StatefulSet", "DaemonSet", "Deployment", "Job"])

/** Returns the selector of an object's pods. Source: kubectl pkg/polymorphichelpers/helpers.go (SelectorsForObject). */
export function podSelectorOf(object: Unstructured): string {
  const { kind = "", metadata } = object
  const spec = (object["spec"] ?? {}) as { readonly selector?: unknown }
  if (BY_SELECTOR.has(kind)) return fromLabelSelector((spec.selector ?? {}) as LabelSelector).toString()
  if (kind !== "ReplicationController" && kind !== "Service")
    throw new Error(`selector for ${goTypeOf(object)} not implemented`)
  const matchLabels = (spec.selector ?? {}) as Readonly<Record<string, string>>
  if (kind === "Service" && Object.keys(matchLabels).length === 0)
    throw new Error(`invalid service '${metadata?.name ?? ""}': Service is defined without a selector`)
  return fromLabels(matchLabels).toString()
}

export type PodOrder = (a: Pod, b: Pod) => number

/** Lists the pods that a selector matches, in order; waits for the first if there is none. */
export async function podsMatching(
  factory: Factory,
  namespace: string,
  labelSelector: string,
  { timeoutMs, order }: { readonly timeoutMs: number; readonly order: PodOrder },
): Promise<readonly Pod[]> {
  const helper = await podHelper(factory)
  const list = await helper.list(namespace, { labelSelector })
  const pods = ((list["items"] ?? []) as readonly Pod[]).map(typed)
  if (pods.length > 0) return pods.sort(order)
  const { clock, interrupt } = factory.environment
  const over = new AbortController()
  const timer =
    timeoutMs === 0
      ? undefined
      : clock.setTimeout(() => over.abort(new Error("timed out waiting for the condition")), timeoutMs)
  try {
    const resourceVersion = list.metadata?.resourceVersion ?? ""
    const signal = AbortSignal.any([over.signal, interrupt])
    for await (const { type, object } of helper.watch(namespace, { labelSelector, resourceVersion }, signal))
      if (type === "ADDED" || type === "MODIFIED") return [typed(object as Pod)]
    throw new Error("watch closed before UntilWithoutRetry timeout")
  } catch (err) {
    if (over.signal.aborted) throw over.signal.reason
    throw err
  } finally {
    timer?.cancel()
  }
}

/** Items of a list do not say what they are. */
const typed = (pod: Pod): Pod => ({ ...pod, kind: "Pod", apiVersion: "v1" })

const PHASES: Readonly<Record<string, number>> = { Running: 0, Unknown: 1, Pending: 2 }

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true

/** The times of a pod in milliseconds; Infinity where it has none, so that it comes last. */
const readySince = ({ status }: Pod): number =>
  Date.parse(
    status?.conditions?.find(({ type, status: is }) => type === "Ready" && is === "True")?.lastTransitionTime ?? "",
  ) || Infinity

const createdAt = ({ metadata }: Pod): number => Date.parse(metadata?.creationTimestamp ?? "") || Infinity

const restarts = ({ status }: Pod): number =>
  largest([0, ...(status?.containerStatuses ?? []).map(({ restartCount = 0 }) => restartCount)])

const by =
  (...keys: readonly ((pod: Pod) => number)[]): PodOrder =>
  (a, b) => {
    for (const key of keys) {
      const [left, right] = [key(a), key(b)]
      if (left !== right) return left < right ? -1 : 1
    }
    return 0
  }

const isAssigned = ({ spec }: Pod): number => ((spec?.nodeName ?? "") === "" ? 1 : 0)
/** Upstream takes a pod that has ended for one that runs, or for one that waits: it depends on the order. */
const phaseOf =
  (ended: number) =>
  ({ status }: Pod): number =>
    PHASES[status?.phase ?? ""] ?? ended
const notReady = (pod: Pod): number => (isReady(pod) ? 0 : 1)

/** The pods whose logs tell most come first. Source: kubectl pkg/util/podutils/podutils.go (ByLogging). */
export const byLogging = by(isAssigned, phaseOf(0), notReady, readySince, (pod) => -restarts(pod), createdAt)

/** The most useful pods come first: the reverse of podutils.ActivePods. */
export const byActivity = by(isAssigned, phaseOf(2), notReady, readySince, restarts, createdAt)
