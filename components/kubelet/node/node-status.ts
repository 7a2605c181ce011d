import type { ContainerImage, NodeStatus } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import { GIT_VERSION } from "../../../pkg/version/version.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../context.ts"
import { nodeResources, type NodeResources } from "../model/capacity.ts"
import { nodeConditions } from "./conditions.ts"
import { tuningOf } from "../model/tuning.ts"
import type { Pressure } from "../model/pressure.ts"

/**
 * The features that this kubelet has, of those that nodes declare. Source: k8s.io/component-helpers
 * nodedeclaredfeatures.
 */
const DECLARED_FEATURES = [
  "ExtendWebSocketsToKubelet",
  "InPlacePodLevelResourcesVerticalScaling",
  "InPlacePodVerticalScalingInitContainers",
  "RestartAllContainersOnContainerExits",
]
const MAX_IMAGES = 50
const MAX_NAMES = 5

/** The nodeInfo of a node before it reports. */
export const EMPTY_INFO: NodeStatus["nodeInfo"] = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
}

/** What pods have of the node. */
export interface NodeUse {
  readonly devices: NodeResources
  /** The volumes that are attached or are to be, by name; undefined where the kubelet does not know. */
  readonly volumesInUse: readonly string[] | undefined
}

/**
 * Returns the status of the node now. `before` is the stored status: resources and times that others wrote are kept.
 * Source: pkg/kubelet/nodestatus/setters.go.
 */
export async function readNodeStatus(
  context: KubeletContext,
  before: NodeStatus,
  pressure: Pressure,
  { devices, volumesInUse }: NodeUse,
): Promise<Partial<NodeStatus>> {
  const { runtime, config, clock } = context
  const [{ problems, version, handlers, features }, images, disk] = await Promise.all([
    runtimeState(context, before),
    largestImages(context, before),
    runtime.machine.space(config.root),
  ])
  return {
    addresses: [
      ...config.nodeIps.map((address) => ({ type: "InternalIP", address })),
      ...config.externalIps.map((address) => ({ type: "ExternalIP", address })),
      { type: "Hostname", address: config.nodeName },
    ],
    ...nodeResources({
      machine: runtime.machine,
      disk,
      maxPods: config.maxPods,
      tuning: tuningOf(config),
      before,
      devices,
    }),
    conditions: nodeConditions({ pressure, problems, before: before.conditions ?? [], now: clock.now() }),
    declaredFeatures: DECLARED_FEATURES,
    daemonEndpoints: { kubeletEndpoint: { Port: context.port() } },
    nodeInfo: {
      ...runtime.machine.info,
      containerRuntimeVersion: version,
      kubeletVersion: GIT_VERSION,
      kubeProxyVersion: "",
    },
    images,
    // An empty list is sent only in place of another one: it is not stored.
    ...(volumesInUse === undefined || (volumesInUse.length === 0 && (before.volumesInUse ?? []).length === 0)
      ? {}
      : { volumesInUse }),
    ...(handlers.length === 0 ? {} : { runtimeHandlers: handlers }),
    ...(features === undefined ? {} : { features }),
  }
}

/** Returns whether the runtime can run pods, and its features. */
async function runtimeState({ runtime: { containers } }: KubeletContext, before: NodeStatus) {
  try {
    const [version, state] = await Promise.all([containers.version(), containers.status()])
    const conditions = state.status?.conditions ?? []
    const problems = ["RuntimeReady", "NetworkReady"].flatMap((wanted) => {
      const condition = conditions.find(({ type }) => type === wanted)
      if (condition?.status === true) return []
      const detail = `${wanted}=false reason:${condition?.reason ?? "unknown"} message:${condition?.message ?? ""}`
      return [
        wanted === "RuntimeReady"
          ? `container runtime not ready: ${detail}`
          : `container runtime network not ready: ${detail}`,
      ]
    })
    const handlers = state.runtimeHandlers.map(({ name, features }) => ({
      name,
      ...(features === undefined
        ? {}
        : {
            features: {
              recursiveReadOnlyMounts: features.recursiveReadOnlyMounts,
              userNamespaces: features.userNamespaces,
            },
          }),
    }))
    const features =
      state.features === undefined ? undefined : { supplementalGroupsPolicy: state.features.supplementalGroupsPolicy }
    return { problems, version: `${version.runtimeName}://${version.runtimeVersion}`, handlers, features }
  } catch (err) {
    return {
      problems: [`container runtime is down: ${errorMessage(err)}`],
      version: before.nodeInfo.containerRuntimeVersion,
      handlers: [],
      features: undefined,
    }
  }
}

/** Returns the largest images only, as upstream: all of them would make the Node large. */
async function largestImages({ runtime }: KubeletContext, before: NodeStatus): Promise<readonly ContainerImage[]> {
  try {
    const images = await runtime.images.listImages()
    return images
      .toSorted((a, b) => b.size - a.size)
      .slice(0, MAX_IMAGES)
      .map(({ repoDigests, repoTags, size }) => ({
        names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES),
        sizeBytes: size,
      }))
  } catch {
    return before.images ?? []
  }
}

/** Returns the status without heartbeat times and empty lists, which are no change. */
export const comparable = ({ conditions = [], images = [], ...rest }: Partial<NodeStatus>): object => ({
  ...rest,
  images,
  conditions: conditions
    .map(({ lastHeartbeatTime: _time, ...condition }) => condition)
    .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
})

/**
 * Returns `status` for a strategic merge patch: resources that are only in `before` are removed, and addresses are
 * replaced, because they would be merged by their type, which two of them have on a node of both families. Source:
 * fixupPatchForNodeStatusAddresses in k8s.io/component-helpers node/util/status.go.
 */
export function withRemovals(before: NodeStatus, status: Partial<NodeStatus>): object {
  const lists = (["capacity", "allocatable"] as const).map((list) => {
    const gone = Object.keys(before[list] ?? {}).filter((name) => status[list]?.[name] === undefined)
    return [list, { ...status[list], ...Object.fromEntries(gone.map((name) => [name, null])) }] as const
  })
  const { addresses } = status
  return {
    ...status,
    ...(addresses === undefined ? {} : { addresses: [{ $patch: "replace" }, ...addresses] }),
    ...Object.fromEntries(lists),
  }
}
