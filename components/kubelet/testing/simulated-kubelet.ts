import { Event } from "../../../pkg/api/core/v1/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent } from "../../../pkg/log/log.ts"
import { createKubelet } from "../kubelet.ts"
import { ImageBehaviours, type ImageBehaviour } from "../runtime/simulated/behaviour.ts"
import { SimulatedNetwork } from "../runtime/simulated/network.ts"
import { createSimulatedRuntime } from "../runtime/simulated/simulated-runtime.ts"
import { FakeApi } from "./fake-api.ts"

export type PodSpecInput = NonNullable<InputOfResource<typeof Pod>["spec"]>

/** A kubelet on a simulated machine, in virtual time, with an API in memory. */
export async function simulatedKubelet(images: Readonly<Record<string, ImageBehaviour>>) {
  const clock = new VirtualClock(Date.parse("2026-01-01T00:00:00Z"))
  const random = seededRandom(7)
  const api = new FakeApi(clock)
  const failures: unknown[] = []
  const runtime = createSimulatedRuntime({
    name: "node-0", cpus: 4, memoryBytes: 8 * 2 ** 30, diskBytes: 100 * 2 ** 30, nodeIp: "10.0.0.1", clock, random, behaviours: new ImageBehaviours(images), network: new SimulatedNetwork(clock), podCidr: () => "10.42.0.0/24",
  })
  const nodes = new NodeConnectors()
  const newKubelet = () => createKubelet({
    client: api.client, informers: api.informers(), clock, random, log: silent,
    spawn: (_name, run) => void run().catch((err: unknown) => failures.push(err)),
  }, {
    nodeName: "node-0", nodeIps: ["10.0.0.1"], root: "/kubelet", podLogs: "/pods", staticPods: "/manifests", clusterDns: ["10.43.0.10"], clusterDomain: "cluster.local", resolvConf: "",
    maxPods: 110, cgroupDriver: "cgroupfs", labels: {}, taints: [], port: 10250, nodes, runtime,
  })
  let kubelet = newKubelet()
  const started = kubelet.start(new AbortController().signal)
  await clock.settle()
  await started
  return {
    clock, api, runtime, nodes, failures,
    async create(name: string, spec: PodSpecInput): Promise<void> {
      await api.client.create(Pod, { metadata: { name, namespace: "default", generation: 1 }, spec: { nodeName: "node-0", ...spec } })
      await clock.settle()
    },
    async delete(name: string, gracePeriodSeconds?: number): Promise<void> {
      await api.client.delete(Pod, { name, namespace: "default" }, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds })
      await clock.settle()
    },
    pod: (name: string) => api.get(Pod, name, "default"),
    status: (name: string) => api.get(Pod, name, "default")!.status,
    /** `reason: message`, in the order in which they were recorded. */
    events: (name: string) => api.list(Event).filter(({ involvedObject }) => involvedObject.name === name).map(({ reason, message }) => `${reason}: ${message}`),
    async restart(): Promise<void> {
      await kubelet.stop()
      kubelet = newKubelet()
      const again = kubelet.start(new AbortController().signal)
      await clock.settle()
      await again
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await kubelet.stop()
      await clock.settle()
      if (failures.length > 0) throw new AggregateError(failures, "something that the kubelet spawned failed")
    },
  }
}
