/** Nodes, pods with affinity, and a scheduler's view of them. */
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../pkg/apimachinery/decoding/decode.ts"
import { seededRandom } from "../../pkg/clock/random.ts"
import { Cache } from "./cache.ts"
import { NodeVerdicts } from "./node-verdicts.ts"
import { Nominations } from "./nominations.ts"
import { NO_DEVICES } from "./dynamicresources/device-objects.fixtures.ts"
import { DEFAULT_ARGS } from "./config/default-args.ts"
import { NO_VOLUMES } from "./plugins/volumes.fixtures.ts"
import { defaultPlugins } from "./plugins/plugins.ts"
import type { CycleContext } from "./schedule-one.ts"

let uid = 0
export const nodeOf = (
  name: string,
  more: { labels?: object; spec?: object; allocatable?: object; images?: object[] } = {},
): Node =>
  decodeObject(Node, {
    metadata: { name, labels: more.labels },
    spec: more.spec ?? {},
    status: { allocatable: { cpu: "2", memory: "4Gi", pods: "3", ...more.allocatable }, images: more.images ?? [] },
  }).object as Node
export const podOf = (name: string, spec: object = {}, more: { node?: string; status?: object } = {}): Pod =>
  decodeObject(Pod, {
    metadata: { name, namespace: "default", uid: `uid-${uid++}` },
    status: more.status,
    spec: { nodeName: more.node, containers: [{ name: "c", image: "web" }], ...spec },
  }).object as Pod
export const asking = (requests: object) => ({ containers: [{ name: "c", image: "web", resources: { requests } }] })

export function place(nodes: readonly Node[], bound: readonly Pod[] = []): CycleContext {
  const cache = new Cache()
  for (const node of nodes) cache.setNode(node)
  for (const pod of bound) cache.setPod(pod)
  const namespaceLabels = (name: string) => ({ team: name })
  const plugins = defaultPlugins(
    { images: cache.images, namespaceLabels, volumes: NO_VOLUMES, devices: NO_DEVICES },
    { clock: { now: () => 0 }, random: seededRandom(1) },
  )
  const [verdicts, nominations] = [new NodeVerdicts(plugins), new Nominations()]
  return {
    cache,
    plugins,
    verdicts,
    random: seededRandom(1),
    nominations,
    percentageOfNodesToScore: 0,
    preemption: DEFAULT_ARGS.DefaultPreemption,
  }
}

export const labelled = (labels: object, spec: object = {}, node?: string, namespace = "default"): Pod =>
  decodeObject(Pod, {
    metadata: { name: "l", namespace, uid: `uid-${uid++}`, labels },
    spec: { nodeName: node, containers: [{ name: "c", image: "web" }], ...spec },
  }).object as Pod
export const zone = (name: string, value: string) =>
  nodeOf(name, { labels: { "topology.kubernetes.io/zone": value, "kubernetes.io/hostname": name } })
export const term = (labels: object, more: object = {}) => ({
  topologyKey: "topology.kubernetes.io/zone",
  labelSelector: { matchLabels: labels },
  ...more,
})
export const near = (...terms: object[]) => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
})
export const away = (...terms: object[]) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
})
export const spread = (whenUnsatisfiable = "DoNotSchedule", more: object = {}) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable,
      labelSelector: { matchLabels: { app: "web" } },
      ...more,
    },
  ],
})
export const WEB = { app: "web" }
