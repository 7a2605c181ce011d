import type { Taint } from "../../../pkg/api/core/v1/node/nodespec.ts"
import { featuresOf, type FeatureName, type Features } from "../../../pkg/component/features.ts"
import { parseQuantity, unitsOf } from "../../../pkg/apimachinery/quantity.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { ImageBehaviour } from "../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { ExtensionServer } from "../../apiserver/aggregator/extension-server.ts"
import type { SimulatedNodeSpec } from "../simulated-node.ts"
import { TestClusterError } from "./caller.ts"
import { SYNC_FREQUENCY_MS } from "../../kubelet/context.ts"
import { milliseconds, type Duration } from "./time/duration.ts"
import type { ManifestSource } from "./verbs/manifests.ts"
import type { WebhookFunctions } from "./webhooks.ts"

export interface NodeOptions {
  /** `node-0`, `node-1` … unless given. */
  readonly name?: string
  /** What the machine has. 8 CPUs, 32Gi, 110 pods and 100Gi of disk unless given. */
  readonly capacity?: {
    readonly cpu?: string | number
    readonly memory?: string
    readonly pods?: string | number
    readonly "ephemeral-storage"?: string
  }
  readonly labels?: Readonly<Record<string, string>>
  readonly taints?: readonly Taint[]
  /**
   * How long volumes of running pods may lag behind their ConfigMaps and Secrets, up to half as much more by chance;
   * `1m` unless given, 0 for not at all.
   */
  readonly syncFrequency?: Duration
}

export interface ClusterOptions {
  /** How many simulated nodes, or what each is like; none unless given. */
  readonly nodes?: number | readonly NodeOptions[]
  /** The same seed makes the same history. `K3TS_SEED`, or one drawn for the process, unless given. */
  readonly seed?: number
  /** `virtual` stands still until the test moves it; `real` is the system's, for programs outside the test. */
  readonly clock?: "virtual" | "real"
  /** Where virtual time begins; 2026-01-01T00:00:00Z unless given. */
  readonly startTime?: string | Date
  /** Applied before `startCluster` resolves. */
  readonly preload?: ManifestSource | readonly ManifestSource[]
  /** How images behave, by name; any other image runs until it is stopped. */
  readonly images?: Readonly<Record<string, ImageBehaviour>>
  /** Parts that are not to run. */
  readonly components?: {
    readonly scheduler?: boolean
    /**
     * False for nodes that are there and ready, but on which nothing happens: what becomes of pods is the test's to
     * write.
     */
    readonly kubelet?: boolean
    /** False for none of the controllers, or which of them by name are not to run. */
    readonly controllers?: boolean | { readonly disabled: readonly string[] }
  }
  /**
   * Admission and conversion webhooks that are functions of the test, by the place that their configurations or
   * definitions name: a URL, or the namespace and name of a Service with its path, such as `hooks/policy/validate`.
   */
  readonly webhooks?: WebhookFunctions
  /**
   * API servers that are functions of the test, by the namespace and name of the Service that an APIService names, such
   * as `metrics/server`. A Service need not exist.
   */
  readonly extensionServers?: Readonly<Record<string, ExtensionServer>>
  /** Admission plugins that are not to run, such as `ServiceAccount`. */
  readonly admission?: { readonly disabled?: readonly string[] }
  /** Feature gates by Kubernetes' names; each is on or off as in Kubernetes 1.36 unless given. */
  readonly features?: Readonly<Partial<Record<FeatureName, boolean>>>
  /**
   * How often autoscalers look at their metrics; `15s` unless given, as in real clusters. A longer time makes long runs
   * short: a week has 40,320 looks, and 2,016 with `5m`.
   */
  readonly autoscalerSyncPeriod?: Duration
  /**
   * How far back `history()` reaches: all of it unless given. Long runs with many objects want a limit, very large ones
   * `none`.
   */
  readonly history?: "all" | "none" | Duration
  /**
   * What the test is given is frozen, since it is the store's own: changing it throws where it is done. True unless
   * given.
   */
  readonly frozen?: boolean
  readonly log?: Logger
}

/** What a node of a test cluster is like; its addresses follow from its place among the nodes. */
export type NodeSpec = Omit<SimulatedNodeSpec, "ips">

const MOST_NODES = 10_000
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** Every node with all that it needs. @throws TestClusterError that names the option, its value and the mend */
export function nodeSpecs(nodes: ClusterOptions["nodes"] = 0): readonly NodeSpec[] {
  if (typeof nodes === "number") {
    if (!Number.isInteger(nodes) || nodes < 0 || nodes > MOST_NODES)
      throw new TestClusterError(
        `Cannot start a cluster with nodes: ${nodes}: expected a whole number from 0 to ${MOST_NODES}`,
      )
    return Array.from({ length: nodes }, (_, index) => nodeSpec({}, index))
  }
  const specs = nodes.map(nodeSpec)
  const twice = specs.find(({ name }, index) => specs.findIndex((other) => other.name === name) !== index)
  if (twice !== undefined)
    throw new TestClusterError(`Cannot start a cluster with two nodes named ${JSON.stringify(twice.name)}`)
  return specs
}

/**
 * One node with all that it needs, the `index`th of its cluster. @throws TestClusterError that names the option, its
 * value and the mend
 */
export function nodeSpec(
  { name, capacity = {}, labels = {}, taints = [], syncFrequency = SYNC_FREQUENCY_MS }: NodeOptions,
  index: number,
): NodeSpec {
  const own = name ?? `node-${index}`
  if (!NAME.test(own))
    throw new TestClusterError(
      `Cannot name a node ${JSON.stringify(own)}: expected lower-case letters, digits, "-" and "."`,
    )
  return {
    name: own,
    labels,
    taints,
    syncFrequencyMs: milliseconds(syncFrequency),
    cpus: amount(capacity.cpu ?? 8, "cpu", own),
    memoryBytes: amount(capacity.memory ?? "32Gi", "memory", own),
    diskBytes: amount(capacity["ephemeral-storage"] ?? "100Gi", "ephemeral-storage", own),
    maxPods: amount(capacity.pods ?? 110, "pods", own),
  }
}

function amount(value: string | number, resource: string, node: string): number {
  const parsed = parseQuantity(String(value))
  if (parsed === undefined || parsed.nano < 0n)
    throw new TestClusterError(
      `Cannot give node ${JSON.stringify(node)} ${resource} ${JSON.stringify(value)}: expected a quantity ` +
        `such as "4" or "16Gi"`,
    )
  return unitsOf(String(value))
}

/** The feature gates as they are set. @throws TestClusterError for a gate that there is not */
export function featuresFrom(given: ClusterOptions["features"]): Features {
  try {
    return featuresOf(given ?? {})
  } catch (err) {
    throw new TestClusterError(
      `Cannot start a cluster with features: ${err instanceof Error ? err.message : String(err)}`,
    )
  }
}

/** How often autoscalers look, in milliseconds; undefined for the usual. @throws TestClusterError for no time at all */
export function syncPeriodOf({ autoscalerSyncPeriod: given }: ClusterOptions): number | undefined {
  if (given === undefined) return undefined
  const ms = milliseconds(given)
  if (ms < 1000)
    throw new TestClusterError(
      `Cannot let autoscalers look every ${JSON.stringify(given)}: expected a second or more, such as "15s"`,
    )
  return ms
}
