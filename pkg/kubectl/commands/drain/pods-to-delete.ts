import { errorMessage } from "../../../errors/error-message.ts"
import type { Clock } from "../../../clock/clock.ts"
import { isNotFound } from "../../errors/status-error.ts"
import type { OwnerReference, Unstructured } from "../../rest/json.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import { pathSegment } from "../../rest/rest-client.ts"

const DAEMON_SET_FATAL = "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
const DAEMON_SET_WARNING = "ignoring DaemonSet-managed Pods"
const LOCAL_STORAGE_FATAL = "Pods with local storage (use --delete-emptydir-data to override)"
const UNMANAGED_FATAL = "Pods that declare no controller (use --force to override)"
const UNMANAGED_WARNING = "deleting Pods that declare no controller"
const MIRROR = "kubernetes.io/config.mirror"

/** A pod, as far as draining looks at it. */
export interface DrainedPod extends Unstructured {
  spec?: { volumes?: readonly { emptyDir?: unknown }[] }
  status?: { phase?: string }
}

/** Which pods are ended, and which are in the way. */
export interface DrainRules {
  readonly force: boolean
  readonly ignoreDaemonSets: boolean
  readonly deleteEmptyDirData: boolean
  /** Pods whose end is older than this many seconds are passed over; 0: none. */
  readonly skipOlderThan: number
}

/** What becomes of one pod. */
type Verdict =
  | { readonly is: "deleted" | "kept" }
  | { readonly is: "deleted" | "kept"; readonly warning: string }
  | { readonly is: "error"; readonly message: string }

const DELETED: Verdict = { is: "deleted" }

/** The pods of a node that are to be deleted, and what is to be said of them. */
export interface PodsToDelete {
  readonly pods: readonly DrainedPod[]
  /** Empty when there is nothing to warn of. */
  readonly warnings: string
  readonly errors: readonly Error[]
}

/** Sorts out the pods of a node. Source: kubectl pkg/drain/filters.go. */
export async function podsToDelete(
  pods: readonly DrainedPod[],
  rules: DrainRules,
  { client, clock }: { readonly client: RestClient; readonly clock: Clock },
): Promise<PodsToDelete> {
  const deleted: DrainedPod[] = []
  const warnings = new Map<string, string[]>()
  const errors = new Map<string, string[]>()
  for (const pod of pods) {
    const verdict = await verdictOn(pod, rules, client, clock)
    const name = `${pod.metadata?.namespace ?? ""}/${pod.metadata?.name ?? ""}`
    if (verdict.is === "deleted") deleted.push({ ...pod, kind: "Pod", apiVersion: "v1" })
    const [words, lists] =
      verdict.is === "error" ? [verdict.message, errors] : ["warning" in verdict ? verdict.warning : "", warnings]
    if (words !== "") lists.set(words, [...(lists.get(words) ?? []), name])
  }
  return {
    pods: deleted,
    warnings: [...warnings].map(([words, names]) => `${words}: ${names.join(", ")}`).join("; "),
    errors: [...errors].map(([words, names]) => new Error(`cannot delete ${words}: ${names.join(", ")}`)),
  }
}

/** Asks one rule after the other. The first that keeps the pod decides, and otherwise the last. */
async function verdictOn(pod: DrainedPod, rules: DrainRules, client: RestClient, clock: Clock): Promise<Verdict> {
  if (isSkipped(pod, rules.skipOlderThan, clock)) return { is: "kept" }
  const byDaemonSet = await daemonSetVerdict(pod, rules, client)
  if (byDaemonSet.is !== "deleted") return byDaemonSet
  if (pod.metadata?.annotations?.[MIRROR] !== undefined) return { is: "kept" }
  const hasEnded = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed"
  if (hasEnded) return DELETED
  const hasLocalStorage = (pod.spec?.volumes ?? []).some(({ emptyDir }) => emptyDir !== undefined)
  if (hasLocalStorage && !rules.deleteEmptyDirData) return { is: "error", message: LOCAL_STORAGE_FATAL }
  if (controllerOf(pod) !== undefined) return DELETED
  return rules.force ? { is: "deleted", warning: UNMANAGED_WARNING } : { is: "error", message: UNMANAGED_FATAL }
}

const controllerOf = ({ metadata }: DrainedPod): OwnerReference | undefined =>
  metadata?.ownerReferences?.find(({ controller }) => controller === true)

async function daemonSetVerdict(pod: DrainedPod, rules: DrainRules, client: RestClient): Promise<Verdict> {
  const owner = controllerOf(pod)
  if (owner?.kind !== "DaemonSet" || owner.apiVersion !== "apps/v1") return DELETED
  if (pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed") return DELETED
  const namespace = pathSegment(pod.metadata?.namespace ?? "")
  try {
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/${pathSegment(owner.name ?? "")}`
    await client.object({ method: "GET", path })
  } catch (err) {
    return isNotFound(err) && rules.force
      ? { is: "deleted", warning: err.message }
      : { is: "error", message: errorMessage(err) }
  }
  return rules.ignoreDaemonSets
    ? { is: "kept", warning: DAEMON_SET_WARNING }
    : { is: "error", message: DAEMON_SET_FATAL }
}

/** Whether the end of a pod has been awaited long enough. */
export function isSkipped({ metadata }: DrainedPod, seconds: number, clock: Clock): boolean {
  const at = metadata?.deletionTimestamp
  return seconds > 0 && typeof at === "string" && Math.floor((clock.now() - Date.parse(at)) / 1000) > seconds
}
