import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ResourceClaim } from "../../../pkg/api/resource/v1/resourceclaim.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"
import { FakePlugin, type FakePlugins } from "./plugin.fixtures.ts"

export const DRIVER = "gpu.example.com"
export const SOCKET = "gpu-reg.sock"

/** A node that has devices prepared by the plugins of `sockets`, and keeps what its containers are created with. */
export async function nodeWith(sockets: FakePlugins) {
  const node = await simulatedKubelet({ web: {}, work: { runsMs: 1000 } })
  const { runtime, cluster } = node
  Object.assign(runtime, { plugins: sockets })
  const created = new Map<string, readonly string[]>()
  const createContainer = runtime.containers.createContainer.bind(runtime.containers)
  runtime.containers.createContainer = (sandbox, config, sandboxConfig) => {
    created.set(
      config.metadata?.name ?? "",
      (config.cdiDevices ?? []).map(({ name }) => name ?? ""),
    )
    return createContainer(sandbox, config, sandboxConfig)
  }
  await node.restart()
  return {
    ...node,
    created,
    /** Makes a claim with a device of the driver. */
    async claim(name: string): Promise<ResourceClaim> {
      const claim = await cluster.client.create(ResourceClaim, {
        metadata: { name, namespace: "default" },
        spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpus" } }] } },
      })
      const results = [{ request: "gpu", driver: DRIVER, pool: "pool", device: "gpu-0" }]
      return cluster.client.updateStatus(ResourceClaim, { ...claim, status: { allocation: { devices: { results } } } })
    },
    /** Makes a pod on the node whose container `c` uses the claim. */
    async use(claimName: string, podName: string, image = "web"): Promise<void> {
      const pod = await cluster.client.create(Pod, {
        metadata: { name: podName, namespace: "default" },
        spec: {
          restartPolicy: image === "work" ? "Never" : "Always",
          schedulingGates: [{ name: "example.com/claim" }],
          resourceClaims: [{ name: "device", resourceClaimName: claimName }],
          containers: [
            { name: "c", image, resources: { claims: [{ name: "device" }] } },
            { name: "d", image },
          ],
        },
      })
      const claim = await cluster.client.get(ResourceClaim, { namespace: "default", name: claimName })
      const reservedFor = [
        ...(claim.status.reservedFor ?? []),
        { resource: "pods", name: podName, uid: pod.metadata.uid! },
      ]
      await cluster.client.updateStatus(ResourceClaim, { ...claim, status: { ...claim.status, reservedFor } })
      const ungated = await cluster.client.update(Pod, { ...pod, spec: { ...pod.spec, schedulingGates: undefined } })
      await cluster.client.createSubresource(Pod, ungated.metadata, "binding", {
        metadata: { name: podName },
        target: { kind: "Node", name: "node-0" },
      })
      await cluster.settle()
    },
    plugin(behaviour: Partial<ConstructorParameters<typeof FakePlugin>[0]> = {}): FakePlugin {
      const plugin = new FakePlugin({ driver: DRIVER, ...behaviour })
      sockets.add(SOCKET, plugin)
      return plugin
    },
  }
}
