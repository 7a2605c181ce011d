import { Namespace } from "../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import { hostIn } from "../../../pkg/netfilter/host.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { inFamilies, inFamily } from "./families.fixtures.ts"
import type { PodInput, PolicyInput, World } from "./is-allowed.fixtures.ts"
import { createNetworkPolicy } from "../network-policy.ts"
import type { PodNetwork } from "./pod-network.fixtures.ts"
import type { Change } from "./truth-tables.fixtures.ts"
import { keyOf, podOf } from "./world.fixtures.ts"

export const NODE = "node-0"

/**
 * Starts the component for a cluster's API, on the machine of a pod network whose pods have addresses of these
 * families.
 */
export async function enforcing(network: PodNetwork, families: readonly Family[] = ["IPv4"]) {
  const cluster = await startCluster({
    clock: "real",
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  const { client } = cluster
  const host = hostIn(network.machine)
  const config = { nodeName: NODE, families, bridge: "cni0", host }
  const start = async () => {
    const context = cluster.contextFor("test:network-policy", ["system:masters"])
    const made = createNetworkPolicy(context, config)
    await made.start(new AbortController().signal)
    return made
  }
  let component = await start()
  /** Resolves when the kernel has all that was written until now. */
  const settled = async (): Promise<void> => {
    // Informers of this process get a write in the turn of its commit.
    await new Promise((resolve) => setImmediate(resolve))
    await component.inForce()
  }
  return {
    client,
    host,
    settled,
    get component() {
      return component
    },
    async restart(): Promise<void> {
      await component.stop()
      component = await start()
    },
    stopOnly: () => component.stop(),
    async addPod(pod: PodInput, { isReported = true } = {}): Promise<Pod> {
      await client.create(Pod, podObject(pod))
      const podIPs = families.map((family) => ({ ip: inFamily(family, pod.address) }))
      const body = { status: { phase: "Running", ...(isReported ? { podIP: podIPs[0]!.ip, podIPs } : {}) } }
      return client.patch(
        Pod,
        { namespace: pod.namespace, name: pod.name },
        { type: "merge", body },
        { subresource: "status" },
      )
    },
    async set(policy: PolicyInput): Promise<void> {
      const { namespace, name, ...spec } = inFamilies(families, policy)
      const known = await client.get(NetworkPolicy, { namespace, name }).catch(() => undefined)
      const object = { metadata: { ...known?.metadata, namespace, name }, spec } as never
      await (known === undefined ? client.create(NetworkPolicy, object) : client.update(NetworkPolicy, object))
    },
    /** Creates pods and namespaces of a world. */
    async write({ pods, namespaces }: World): Promise<void> {
      for (const [name, labels] of Object.entries(namespaces))
        await client.create(Namespace, { metadata: { name, labels } })
      for (const pod of pods) await this.addPod(pod)
    },
    async change(change: Change, world: World): Promise<void> {
      if ("policy" in change) await this.set(change.policy)
      else if ("remove" in change) for (const policy of world.policies) await client.delete(NetworkPolicy, policy)
      else if ("namespace" in change)
        await client.patch(
          Namespace,
          { name: change.namespace },
          { type: "merge", body: { metadata: { labels: change.labels } } },
        )
      else {
        const { namespace, name } = podOf(world, change.pod)
        await client.patch(Pod, { namespace, name }, { type: "merge", body: { metadata: { labels: change.labels } } })
      }
    },
    /** Removes all policies, and restores the labels of a world. */
    async reset(world: World): Promise<void> {
      for (const namespace of Object.keys(world.namespaces)) await client.deleteCollection(NetworkPolicy, { namespace })
      const over = (labels: Record<string, string> | undefined, wanted: Readonly<Record<string, string>>) => ({
        type: "merge" as const,
        body: {
          metadata: {
            labels: { ...Object.fromEntries(Object.keys(labels ?? {}).map((key) => [key, null])), ...wanted },
          },
        },
      })
      for (const [name, labels] of Object.entries(world.namespaces)) {
        const { metadata } = await client.get(Namespace, { name })
        await client.patch(Namespace, { name }, over(metadata.labels as Record<string, string>, labels))
      }
      for (const pod of world.pods) {
        const { metadata } = await client.get(Pod, pod)
        await client.patch(Pod, pod, over(metadata.labels as Record<string, string>, pod.labels))
      }
    },
    async [Symbol.asyncDispose]() {
      await component.stop()
      await cluster.stop()
    },
  }
}

export const podObject = ({ namespace, name, labels, ports }: PodInput) => ({
  metadata: { namespace, name, labels },
  spec: {
    nodeName: NODE,
    containers: [
      {
        name: "only",
        image: "pause",
        ports: ports.map((port) => ({ name: port.name, protocol: port.protocol, containerPort: port.number })),
      },
    ],
  },
})

/** Returns all connections between a world's pods that differ from `wanted`. */
export async function misled(
  network: PodNetwork,
  world: World,
  wanted: (from: PodInput, to: PodInput, port: number, protocol: "TCP" | "UDP") => boolean,
): Promise<readonly string[]> {
  const found = await Promise.all(
    world.pods.flatMap((from) =>
      world.pods.flatMap((to) =>
        [80, 81].flatMap((port) =>
          (["TCP", "UDP"] as const).map(async (protocol) => {
            const expected = wanted(from, to, port, protocol)
            const said = await network.pod(keyOf(from)).tell({
              address: to.address,
              port,
              protocol,
              // A connection that should succeed may take as long as a busy machine needs.
              timeoutMs: expected ? 10_000 : 250,
            })
            const really = said === undefined ? false : said === keyOf(to)
            return really === expected ? [] : [`${keyOf(from)} → ${keyOf(to)} ${port}/${protocol}: ${really}`]
          }),
        ),
      ),
    ),
  )
  return found.flat()
}
