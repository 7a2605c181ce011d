import { OwnPorts } from "../../../pkg/component/own-ports.ts"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { silent, type Logger } from "../../../pkg/log/log.ts"
import type { ClusterOptions } from "../../cluster/testing/options/options.ts"
import { startCluster } from "../../cluster/testing/cluster.ts"
import type { KubeletContext } from "../context.ts"
import { KubeletMetrics } from "../metrics/kubelet-metrics.ts"
import { ImageManager } from "../images/image-manager.ts"
import { ownObjects } from "../objects/own-objects.ts"
import { hostVolumes } from "../runtime/cri/volumes/host-volumes.ts"
import type { ContainerRuntime } from "../runtime/runtime.ts"
import type { MountedVolumes } from "../model/mounted-volume.ts"
import { createVolumeManager } from "./volume-manager.ts"

export const NAMESPACE = "default"
export type VolumeHost = Awaited<ReturnType<typeof volumeHost>>

/** The volumes of a node in a cluster without other components, with a folder in the place of the node's tmpfs. */
export async function volumeHost(options: Pick<ClusterOptions, "features" | "runtimeConfig"> = {}) {
  const cluster = await startCluster({ components: { scheduler: false, controllers: false }, ...options })
  const root = await mkdtemp(join(tmpdir(), "k3ts-pods-"))
  const told: string[] = []
  // A folder replaces the tmpfs, so that the test needs no root rights.
  const files = { ...hostVolumes(), memoryFolder: async () => join(root, "memory") }
  const runtime = {
    volumes: files,
    machine: { cpus: 4, memoryBytes: 8 * 2 ** 30, hugepages: {}, space: async () => ({ capacityBytes: 100 }) },
    containers: { version: async () => ({ runtimeName: "containerd", runtimeVersion: "1.6.20" }) },
  }
  const warned: string[] = []
  const log: Logger = { ...silent, warn: (message: string) => void warned.push(message), child: () => log }
  const context: KubeletContext = {
    ...cluster.contextFor("system:node:node-0", ["system:nodes"], { fieldSelectors: ownObjects("node-0") }),
    log,
    config: {
      nodeName: "node-0",
      externalIps: [],
      nodeIps: ["192.0.2.1"],
      root,
      podLogs: join(root, "logs"),
      staticPods: "",
      clusterDns: [],
      clusterDomain: "cluster.local",
      resolvConf: "",
      maxPods: 110,
      cgroupDriver: "cgroupfs",
      labels: {},
      taints: [],
      syncFrequencyMs: 0,
    },
    // Volumes use only these parts of the kubelet.
    runtime: runtime as unknown as ContainerRuntime,
    metrics: new KubeletMetrics({ nodeName: "node-0", startedAt: 0, figures: () => ({ pods: 0, containers: {} }) }),
    ownPorts: new OwnPorts(),
    networkReady: () => Promise.resolve(),
    pidLimits: async () => ({ pod: undefined, node: 1 }),
    port: () => 0,
    events: {
      event: (_about: KubeObject, _type: string, reason: string, message: string) =>
        void told.push(`${reason}: ${message}`),
      stop: async () => undefined,
    },
  }
  let volumes = createVolumeManager(context, new ImageManager(context), () => {})
  await cluster.client.create(ServiceAccount, { metadata: { namespace: NAMESPACE, name: "default" } })
  await cluster.client.create(Node, { metadata: { name: "node-0" } })
  const createPod = (name: string, spec: object, metadata: object = {}) =>
    cluster.client.create(Pod, {
      metadata: { namespace: NAMESPACE, name, ...metadata },
      spec: {
        nodeName: "node-0",
        serviceAccountName: "default",
        automountServiceAccountToken: false,
        containers: [{ name: "main", image: "x" }],
        ...spec,
      },
    })
  const configMap = (name: string, data: Record<string, string>, more: object = {}) =>
    cluster.client.create(ConfigMap, { metadata: { namespace: NAMESPACE, name }, data, ...more })
  /** Creates a PersistentVolume of 1Gi, named `pv-` and the name of the claim, and a claim that is not bound yet. */
  const createVolume = async (name: string, source: Partial<PersistentVolume["spec"]>) => {
    const settings = { accessModes: ["ReadWriteOnce" as const], storageClassName: "manual" }
    const volume = await cluster.client.create(PersistentVolume, {
      metadata: { name: `pv-${name}` },
      spec: { ...settings, capacity: { storage: "1Gi" }, ...source },
    })
    const claim = await cluster.client.create(PersistentVolumeClaim, {
      metadata: { namespace: NAMESPACE, name },
      spec: { ...settings, volumeName: `pv-${name}`, resources: { requests: { storage: "1Gi" } } },
    })
    return { volume, claim }
  }
  /** Binds the two as the controller does. */
  const bind = async ({ volume, claim }: Awaited<ReturnType<typeof createVolume>>) => {
    const { namespace, name, uid } = claim.metadata
    const claimRef = { kind: "PersistentVolumeClaim", namespace, name, uid }
    await cluster.client.patch(PersistentVolume, volume.metadata, { type: "merge", body: { spec: { claimRef } } })
    const bound = { type: "merge", body: { status: { phase: "Bound" } } } as const
    await cluster.client.patch(PersistentVolumeClaim, claim.metadata, bound, { subresource: "status" })
  }
  const setData = (name: string, data: Record<string, string>) =>
    cluster.client.patch(
      ConfigMap,
      { namespace: NAMESPACE, name },
      { type: "json", body: [{ op: "replace", path: "/data", value: data }] },
    )
  const read = (mounted: MountedVolumes, volume: string, path: string) =>
    readFile(join(mounted.get(volume)!.hostPath, path), "utf8")
  /**
   * Waits until all effects of a change have happened. Threads write the files, so it waits a few turns longer than the
   * clock says.
   */
  const until = async (condition: () => Promise<boolean>) => {
    while (!(await condition())) await cluster.settle()
  }
  const becomes = (mounted: MountedVolumes, volume: string, path: string, text: string) =>
    until(async () => (await read(mounted, volume, path).catch(() => undefined)) === text)

  return {
    cluster,
    root,
    context,
    volumes,
    /** `reason: message` of each Event. */
    told,
    /** The messages of warnings in the log. */
    warned,
    signal: new AbortController().signal,
    createPod,
    configMap,
    createVolume,
    bind,
    setData,
    read,
    until,
    becomes,
    /** Starts the volumes of a kubelet in the place of the one that ran before. */
    restart() {
      volumes.stop()
      return (volumes = createVolumeManager(context, new ImageManager(context), () => {}))
    },
    async stop() {
      volumes.stop()
      await cluster.stop()
      await rm(root, { recursive: true, force: true })
    },
  }
}
