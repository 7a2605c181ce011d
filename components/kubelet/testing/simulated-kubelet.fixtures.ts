import type { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import type { ImageBehaviour } from "../runtime/simulated/containers/behaviour.ts"

export type PodSpecInput = NonNullable<InputOfResource<typeof Pod>["spec"]>

const NODE = "node-0"

/** A cluster of one node and no controllers: what happens to a pod is the kubelet's doing. */
export async function simulatedKubelet(images: Readonly<Record<string, ImageBehaviour>>) {
  const cluster = await startCluster({
    nodes: [{ name: NODE, capacity: { cpu: 4, memory: "8Gi" } }],
    seed: 7,
    images,
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  const { informers } = cluster.contextFor()
  const pods = informers.of(Pod)
  await informers.whenSynced()
  const pod = (name: string): Pod | undefined => pods.get(`default/${name}`)
  return {
    cluster,
    pod,
    runtime: cluster.machine(NODE),
    async create(
      name: string,
      spec: PodSpecInput,
      metadata: { readonly finalizers?: readonly string[] } = {},
    ): Promise<void> {
      await cluster.client.create(Pod, {
        metadata: { name, namespace: "default", ...metadata },
        spec: { nodeName: NODE, ...spec },
      })
      await cluster.settle()
    },
    delete: (name: string, gracePeriodSeconds?: number): Promise<void> =>
      cluster.delete(Pod, name, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    status: (name: string) => pod(name)!.status,
    /** `reason: message`, in the order in which they were recorded. */
    events(name: string): readonly string[] {
      const latest = new Map<string | undefined, Event>()
      for (const { object } of cluster.history({ kind: "Event" })) latest.set(object.metadata.uid, object as Event)
      return [...latest.values()]
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ reason, message }) => `${reason}: ${message}`)
    },
    /** Returns how often an event with this reason was recorded, counting repetitions. */
    count(name: string, reason: string): number {
      const latest = new Map<string | undefined, Event>()
      for (const { object } of cluster.history({ kind: "Event" })) latest.set(object.metadata.uid, object as Event)
      return [...latest.values()]
        .filter((event) => event.involvedObject.name === name && event.reason === reason)
        .reduce((sum, { count = 1 }) => sum + count, 0)
    },
    async restart(): Promise<void> {
      const fault = await cluster.faults.crashed({ kubelet: NODE })
      await fault.end()
      await cluster.settle()
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  }
}
