import { featuresOf, type FeatureName, type Features } from "../../../../pkg/component/features.ts"
import type { Family } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { SchedulerPlugin } from "../../../../pkg/scheduler-plugin/plugin.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { ExtensionServer } from "../../../apiserver/aggregator/extension-server.ts"
import { didYouMean } from "../../../../pkg/names/suggest.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"
import type { CsiDriversOption } from "../storage/csi-drivers.ts"
import type { ReplayInput, ReplayOption } from "../replay/replay-input.ts"
import type { SnapshotInput } from "../snapshot.ts"
import { milliseconds, type Duration } from "../time/duration.ts"
import type { ManifestSource } from "../verbs/manifests.ts"
import type { WebhookFunctions } from "../extensions/webhooks.ts"
import { type NodeSpec, nodeSpec, type NodeOptions } from "./node-spec.ts"

/** See `skips` of ClusterOptions. */
export type Skipped = (typeof SKIPPED)[number]
const SKIPPED = ["heartbeats", "probes"] as const

export interface ClusterOptions {
  /**
   * A snapshot of a real cluster (`k3ts snapshot save`): a path, a file URL, or its bytes. The cluster begins with its
   * objects at the time when it was taken, unless `startTime` says otherwise. Each of its nodes is simulated, with its
   * name, capacity, labels, taints and addresses; containers begin anew, as after a reboot of all machines. `nodes` are
   * added to them. Credentials of the snapshot are not taken over.
   */
  readonly snapshot?: SnapshotInput
  /**
   * A recording (`k3ts record`) to play: a path, a file URL, its bytes, or with what the test runs itself:
   * `{ file: "incident.k3ts", instead: ["system:serviceaccount:shop:operator"] }`. Time begins when the recording
   * does, with its objects and nodes; what users and other programs wrote is written at its time, containers do what
   * theirs did, and controllers and scheduler do their own. `cluster.replay` says where that differs.
   */
  readonly replay?: ReplayInput | ReplayOption
  /**
   * How many servers there are, `server-0`, `server-1` …: each with an API server, controllers and a scheduler that are
   * elected, and a member of the log that they share. Requests then take time, and the network between all machines can
   * fail. By default there is one server whose store nobody shares.
   */
  readonly servers?: number
  /** The number of simulated nodes, or the settings of each; none by default. */
  readonly nodes?: number | readonly NodeOptions[]
  /**
   * The address families of pods, Services and nodes, the primary one first; by default `["IPv4"]`. With both, a
   * Service has both where its `ipFamilyPolicy` says so.
   */
  readonly ipFamilies?: readonly Family[]
  /**
   * How soon nodes hear of changes: with `ideal`, the default, kube-proxy, DNS and the proxy of Ingresses of every node
   * know what has changed at once; with `real` as late as on real nodes, and each at its own time. With `real` the
   * proxy of Ingresses and Gateways runs from the beginning, and writes their statuses.
   */
  readonly network?: "ideal" | "real"
  /** The same seed makes the same history. By default `K3TS_SEED`, or one drawn for the process. */
  readonly seed?: number
  /**
   * `virtual` time stands still until the test moves it; `real` is the system's clock, for programs outside of the
   * test.
   */
  readonly clock?: "virtual" | "real"
  /**
   * What virtual time leaves out while nothing happens, both by default: `heartbeats` of nodes, renewals and the like,
   * and `probes` of which is known that they change nothing. `[]` leaves nothing out.
   */
  readonly skips?: readonly Skipped[]
  /** The first instant of virtual time; 2026-01-01T00:00:00Z by default. */
  readonly startTime?: string | Date
  /** Applied before `startCluster` resolves. */
  readonly preload?: ManifestSource | readonly ManifestSource[]
  /** How images behave, by name; a container of any other image runs until it is stopped. */
  readonly images?: Readonly<Record<string, ImageBehaviour>>
  /**
   * Simulated CSI drivers, by name, such as `"disk.example.com": { attachDelay: "10s" }`. Each has its CSIDriver,
   * creates and deletes the volumes of classes with this provisioner, attaches them to nodes, and mounts them there.
   */
  readonly csiDrivers?: CsiDriversOption
  /** Parts that do not run. */
  readonly components?: {
    readonly scheduler?: boolean
    /** False for nodes that exist and are ready, but on which nothing happens: the test writes the status of pods. */
    readonly kubelet?: boolean
    /** False for no controllers, or the names of those that do not run. */
    readonly controllers?: boolean | { readonly disabled: readonly string[] }
  }
  /**
   * Admission and conversion webhooks as functions of the test, by the place that their configurations or definitions
   * name: a URL, or namespace and name of a Service with its path, such as `hooks/policy/validate`.
   */
  readonly webhooks?: WebhookFunctions
  /**
   * Extension API servers as functions of the test, by namespace and name of the Service in the APIService, such as
   * `metrics/server`. The Service need not exist.
   */
  readonly extensionServers?: Readonly<Record<string, ExtensionServer>>
  /** Admission plugins that do not run, such as `ServiceAccount`. */
  readonly admission?: { readonly disabled?: readonly string[] }
  /**
   * A KubeSchedulerConfiguration: its path, its YAML, or an object. The pods of each of its profiles name it in
   * `schedulerName`.
   */
  readonly schedulerConfig?: string | Readonly<Record<string, unknown>>
  /** Plugins of the scheduler, as `k3ts server --scheduler-plugin` has them; they run in this process. */
  readonly schedulerPlugins?: readonly SchedulerPlugin[]
  /**
   * Extenders of `schedulerConfig` as functions of the test, by their `urlPrefix`: called with the verb and what is
   * posted, they return the answer. Others are asked over HTTP.
   */
  readonly schedulerExtenders?: Readonly<
    Record<string, (verb: string, args: Readonly<Record<string, unknown>>) => unknown>
  >
  /** Feature gates by Kubernetes' names; by default as in Kubernetes 1.36. */
  readonly features?: Readonly<Partial<Record<FeatureName, boolean>>>
  /**
   * Versions of the API to serve that are off by default, as `--runtime-config` has them, such as
   * `certificates.k8s.io/v1beta1`. Their gates must be on too.
   */
  readonly runtimeConfig?: readonly string[]
  /**
   * How often autoscalers read their metrics; `15s` by default, as in real clusters. A longer period makes long runs
   * faster: a week has 40,320 readings, but 2,016 with `5m`.
   */
  readonly autoscalerSyncPeriod?: Duration
  /** How long Events are kept after they were last seen; `1h` by default, as in real clusters, and for ever with `0`. */
  readonly eventTtl?: Duration
  /**
   * How far back `history()` reaches; unlimited by default. Long runs with many objects need a limit, very large ones
   * `none`.
   */
  readonly history?: "all" | "none" | Duration
  /**
   * Objects that the test gets are frozen, since they are the store's own: code that changes one throws. True by
   * default.
   */
  readonly frozen?: boolean
  /** Whether `traces()` shows what each request has caused; false by default, since that costs time and memory. */
  readonly tracing?: boolean
  readonly log?: Logger
  /**
   * A folder for a report of each cluster in which a wait has taken too long or that has not ended cleanly; by default
   * that of the environment variable K3TS_REPORTS, if there is one.
   */
  readonly reports?: string
}

/** Returns whether nodes hear of changes as late as real ones. @throws TestClusterError */
export function isRealNetwork(network: ClusterOptions["network"] = "ideal"): boolean {
  if (network !== "ideal" && network !== "real")
    throw new TestClusterError(
      `Cannot use network: ${JSON.stringify(network)}${didYouMean(String(network), ["ideal", "real"])}: expected "ideal" or "real"`,
    )
  return network === "real"
}

/** Returns what is left out while nothing happens. @throws TestClusterError for a wrong name */
export function skipsFrom({ skips = SKIPPED }: Pick<ClusterOptions, "skips">): ReadonlySet<Skipped> {
  const wrong = skips.find((name) => !SKIPPED.includes(name))
  if (wrong !== undefined)
    throw new TestClusterError(
      `Cannot skip ${JSON.stringify(wrong)}${didYouMean(String(wrong), SKIPPED)}: expected ${SKIPPED.map((name) => JSON.stringify(name)).join(" or ")}`,
    )
  return new Set(skips)
}

const MOST_NODES = 10_000

/**
 * Returns every node's settings with defaults. @throws TestClusterError with the option, its value and what to change
 */
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
    throw new TestClusterError(
      `Cannot start a cluster with nodes that have the same name ${JSON.stringify(twice.name)}`,
    )
  return specs
}

/** The most members that etcd's documentation advises. */
const MOST_SERVERS = 7

/** Returns the number of servers, undefined for one with a store of its own. @throws TestClusterError */
export function serverCount({ servers, snapshot }: Pick<ClusterOptions, "servers" | "snapshot">): number | undefined {
  if (servers === undefined) return undefined
  if (!Number.isInteger(servers) || servers < 1 || servers > MOST_SERVERS)
    throw new TestClusterError(
      `Cannot start a cluster with servers: ${servers}: expected a whole number from 1 to ${MOST_SERVERS}`,
    )
  if (snapshot !== undefined)
    throw new TestClusterError(
      `Cannot start a cluster with servers: ${servers} from a snapshot: leave out servers, or the snapshot`,
    )
  return servers
}

/** Returns the feature gates. @throws TestClusterError for an unknown gate */
export function featuresFrom(given: ClusterOptions["features"]): Features {
  try {
    return featuresOf(given ?? {})
  } catch (err) {
    throw new TestClusterError(`Cannot start a cluster with features: ${errorMessage(err)}`)
  }
}

/**
 * Returns how often autoscalers read their metrics, in milliseconds; undefined for the default. @throws
 * TestClusterError for less than a second
 */
export function syncPeriodOf({ autoscalerSyncPeriod: given }: ClusterOptions): number | undefined {
  if (given === undefined) return undefined
  const ms = milliseconds(given)
  if (ms < 1000)
    throw new TestClusterError(
      `Cannot use autoscalerSyncPeriod ${JSON.stringify(given)}: expected a second or more, such as "15s"`,
    )
  return ms
}

/**
 * Returns how long Events are kept, in seconds; undefined for the default. @throws TestClusterError for a part of a
 * second, in which nothing expires
 */
export function eventSecondsOf({ eventTtl: given }: ClusterOptions): number | undefined {
  if (given === undefined) return undefined
  const seconds = milliseconds(given) / 1000
  if (!Number.isInteger(seconds))
    throw new TestClusterError(`Cannot use eventTtl ${JSON.stringify(given)}: expected whole seconds, such as "1h"`)
  return seconds
}
