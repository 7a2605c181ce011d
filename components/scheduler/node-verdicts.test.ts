import { expect, test } from "bun:test"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../pkg/apimachinery/decoding/decode.ts"
import { seededRandom, type Random } from "../../pkg/clock/random.ts"
import { Cache } from "./cache.ts"
import { NodeVerdicts } from "./node-verdicts.ts"
import { Nominations } from "./nominations.ts"
import { NO_DEVICES } from "./dynamicresources/device-objects.fixtures.ts"
import { NO_VOLUMES } from "./plugins/volumes.fixtures.ts"
import { defaultPlugins } from "./plugins/plugins.ts"
import { findNode, type CycleContext } from "./schedule-one.ts"

const TAINT = { key: "dedicated", value: "gpu", effect: "NoSchedule" }
const SPECS: readonly object[] = [
  {},
  { nodeSelector: { disk: "ssd" } },
  { tolerations: [{ key: "dedicated", operator: "Exists" }] },
  { containers: [{ name: "c", image: "web", ports: [{ containerPort: 80, hostPort: 80 }] }] },
  { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "500m", memory: "256Mi" } } }] },
  { containers: [{ name: "c", image: "web", resources: { requests: { cpu: "1500m" } } }] },
]

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random.next() * values.length)]!

function randomNode(random: Random, name: string): Node {
  const labels = { "kubernetes.io/hostname": name, disk: pick(random, ["ssd", "hdd"]) }
  const taints = random.next() < 0.3 ? [TAINT] : []
  const spec = { taints, unschedulable: random.next() < 0.1 }
  const allocatable = { cpu: pick(random, ["1", "2", "4"]), memory: "4Gi", pods: "6" }
  return decodeObject(Node, { metadata: { name, labels }, spec, status: { allocatable } }).object as Node
}

test("cached results of filters give the same nodes as running every plugin for every node again", () => {
  for (let seed = 1; seed <= 40; seed++) {
    // given a cluster whose scheduler keeps verdicts
    const random = seededRandom(seed)
    const cache = new Cache()
    const plugins = defaultPlugins(
      { images: cache.images, namespaceLabels: () => ({}), volumes: NO_VOLUMES, devices: NO_DEVICES },
      { clock: { now: () => 0 }, random: seededRandom(1) },
    )
    const kept = new NodeVerdicts(plugins)
    const nominations = new Nominations()
    const context = (verdicts: NodeVerdicts): CycleContext => {
      return {
        cache,
        plugins,
        verdicts,
        nominations,
        random: seededRandom(1),
        percentageOfNodesToScore: 0,
        preemption: undefined,
      }
    }
    const bound: Pod[] = []
    for (let step = 0; step < 120; step++) {
      // when nodes come, change and go, and pods are placed and end
      const name = `node-${Math.floor(random.next() * 12)}`
      const chance = random.next()
      if (chance < 0.2) cache.setNode(randomNode(random, name))
      else if (chance < 0.24) cache.removeNode(name)
      else if (chance < 0.4 && bound.length > 0) cache.forget(bound.shift()!)
      else {
        const spec = { containers: [{ name: "c", image: "web" }], ...pick(random, SPECS) }
        const metadata = { name: `p-${step}`, namespace: "default", uid: `uid-${seed}-${step}` }
        const pod = decodeObject(Pod, { metadata, spec }).object as Pod
        const { outcome } = findNode(pod, context(kept), 0)
        // then they decide as a scheduler that has kept nothing
        expect(outcome).toEqual(findNode(pod, context(new NodeVerdicts(plugins)), 0).outcome)
        if (!("node" in outcome)) continue
        cache.assume(pod, outcome.node)
        bound.push(pod)
      }
    }
  }
})
