import { checkOptionNames } from "./option-names.ts"
import type { ImageBehaviour } from "../../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { NodeOptions } from "./node-spec.ts"
import type { ClusterOptions } from "./options.ts"
import type { CsiDriverOptions } from "../storage/csi-drivers.ts"

/**
 * The names that the options of a test cluster may have. A wrong one would be dropped without a word where the test is
 * JavaScript, or its options are made elsewhere. Each table has all keys of its type, as the compiler checks.
 */
type Names<T> = { readonly [name in keyof Required<T>]: true }

const OPTIONS: Names<ClusterOptions> = {
  nodes: true,
  ipFamilies: true,
  servers: true,
  network: true,
  seed: true,
  skips: true,
  startTime: true,
  clock: true,
  images: true,
  csiDrivers: true,
  components: true,
  webhooks: true,
  extensionServers: true,
  admission: true,
  features: true,
  runtimeConfig: true,
  schedulerConfig: true,
  schedulerPlugins: true,
  schedulerExtenders: true,
  autoscalerSyncPeriod: true,
  eventTtl: true,
  history: true,
  frozen: true,
  tracing: true,
  reports: true,
  log: true,
  preload: true,
  snapshot: true,
  replay: true,
}
const COMPONENTS: Names<NonNullable<ClusterOptions["components"]>> = {
  scheduler: true,
  kubelet: true,
  controllers: true,
}
const NODE: Names<NodeOptions> = { name: true, capacity: true, labels: true, taints: true, syncFrequency: true }
const CAPACITY: Names<NonNullable<NodeOptions["capacity"]>> = {
  cpu: true,
  memory: true,
  pods: true,
  "ephemeral-storage": true,
}
const IMAGE: Names<ImageBehaviour> = {
  pullMs: true,
  pullError: true,
  sizeBytes: true,
  uid: true,
  startMs: true,
  startError: true,
  runsMs: true,
  exitCode: true,
  terminationMessage: true,
  logs: true,
  memoryBytes: true,
  cpu: true,
  onStop: true,
  ignoresCommand: true,
  listensAfterMs: true,
  http: true,
  grpc: true,
  exec: true,
  run: true,
}

const CSI_DRIVER: Names<CsiDriverOptions> = {
  provisionDelay: true,
  attachDelay: true,
  detachDelay: true,
  mountDelay: true,
  attachRequired: true,
  volumesPerNode: true,
}

/** Checks the names of options, parts, nodes and image behaviours. @throws TestClusterError for an unknown one */
export function checkNames(options: ClusterOptions): void {
  const { components, images, csiDrivers, admission, nodes } = options
  checkOptionNames("startCluster has no option", options, OPTIONS)
  checkOptionNames("components has no part", components, COMPONENTS)
  const { controllers } = components ?? {}
  checkOptionNames("controllers has no option", typeof controllers === "object" ? controllers : {}, { disabled: true })
  checkOptionNames("admission has no option", admission, { disabled: true })
  if (typeof nodes === "object") for (const node of nodes) checkNode(node)
  for (const [image, behaviour] of Object.entries(images ?? {})) checkImage(image, behaviour)
  for (const [driver, settings] of Object.entries(csiDrivers ?? {}))
    checkOptionNames(`the CSI driver ${JSON.stringify(driver)} cannot have`, settings, CSI_DRIVER)
}

/** Checks the names in the settings of a node. @throws TestClusterError for an unknown one */
export function checkNode(node: NodeOptions): void {
  checkOptionNames("a node has no option", node, NODE)
  checkOptionNames("the capacity of a node has no", node.capacity, CAPACITY)
}

/** Checks the names in the behaviour of an image. @throws TestClusterError for an unknown one */
export const checkImage = (image: string, behaviour: ImageBehaviour): void =>
  checkOptionNames(`the image ${JSON.stringify(image)} cannot have`, behaviour, IMAGE)
