import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import type { Component, ComponentContext } from "../../../pkg/component/component.ts"
import { NodeConnectors, type NodeConnector } from "../../../pkg/component/node-connector.ts"
import { createLogger, silent } from "../../../pkg/log/log.ts"
import { buildImageArchive } from "../../../pkg/oci/archive.ts"
import { startCluster, type Cluster } from "../../../components/cluster/testing/testing.ts"
import { writeCniConfig } from "../../../components/containerd/network/cni.ts"
import { installPlugins } from "../../../components/containerd/network/plugin/install-plugins.ts"
import { Containerd } from "../../../components/containerd/containerd.ts"
import { findCniBinDir } from "../../../components/containerd/host.ts"
import { importImages } from "../../../components/containerd/images/images.ts"
import { containerdPaths, type ContainerdPaths } from "../../../components/containerd/paths.ts"
import { tearDown } from "../../../components/containerd/tear-down.ts"
import { createKubelet } from "../../../components/kubelet/kubelet.ts"
import { removePodCgroups } from "../../../components/kubelet/pod/resources/pod-cgroups.ts"
import { hostCgroups } from "../../../components/kubelet/runtime/cri/cgroups.ts"
import { criRuntime } from "../../../components/kubelet/runtime/cri/cri-runtime.ts"
import { ownObjects } from "../../../components/kubelet/objects/own-objects.ts"
import { busybox, missingHere } from "../../../components/containerd/needs.fixtures.ts"
import type { PodSpecInput } from "../../../components/kubelet/testing/simulated-kubelet.fixtures.ts"

/** The reason why this machine cannot run a kubelet on a real containerd. */
export const MISSING = missingHere()
if (MISSING.length > 0) console.warn(`SKIPPED: the tests of the kubelet on containerd need ${MISSING.join(", ")}`)

/** busybox, with a page in /www. */
export const IMAGE = "k3ts.local/kubelet-test:1"
export const sh = (script: string): string[] => ["sh", "-c", script]
/** The command of a web server on port 8080 that ends at once when it is stopped. */
export const WEB_SERVER = sh("trap 'exit 0' TERM; httpd -p 8080 -h /www; while :; do sleep 1 & wait $!; done")

const NODE = "node-0"

export interface KubeletOnContainerd {
  readonly cluster: Cluster
  readonly containerd: Containerd
  readonly paths: ContainerdPaths
  /** The folder below which everything is written. */
  readonly folder: string
  /** The third byte of the pods' addresses. */
  readonly unique: number
  readonly connector: NodeConnector
  create(name: string, spec: PodSpecInput): Promise<Pod>
  /** Resolves to the pod once the condition holds. */
  pod(name: string, wanted: (pod: Pod) => boolean): Promise<Pod>
  gone(name: string): Promise<unknown>
  /** Returns the reasons of the pod's events. */
  events(name: string): Promise<readonly string[]>
  stopKubelet(): Promise<void>
  startKubelet(): Promise<void>
  /** Stops everything. Returns the mounts that are left, and the failures of background work. */
  stop(): Promise<{ readonly mounts: readonly string[]; readonly failures: readonly unknown[] }>
}

/**
 * Starts the whole kubelet on a real containerd, with an API in memory. Each has its own folders, bridge and address
 * range.
 */
export async function kubeletOnContainerd(): Promise<KubeletOnContainerd> {
  const folder = mkdtempSync("/tmp/k3ts-kubelet-")
  const paths = containerdPaths(join(folder, "data"), join(folder, "run"))
  const root = join(folder, "data/agent/kubelet")
  const unique = process.pid % 200
  const bridge = `k3ts-k${unique}`
  const containerd = new Containerd({ paths, clock: realClock, log: silent, cgroupDriver: "cgroupfs" })
  const log = process.env.VERBOSE
    ? createLogger({ clock: realClock, format: "text", level: "debug", write: (line) => console.error(line) })
    : silent
  const nodes = new NodeConnectors()
  const failures: unknown[] = []

  mkdirSync(paths.cniConfig, { recursive: true })
  mkdirSync(paths.images, { recursive: true })
  installPlugins(paths, findCniBinDir())
  writeCniConfig(paths, { podCidrs: [`10.198.${unique}.0/24`], mtu: 1400, bridge })
  await containerd.start(AbortSignal.timeout(30_000))
  await importImages([testImage()], paths)
  const cluster = await startCluster({
    clock: "real",
    components: { controllers: false, scheduler: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  let kubelet: Component

  const startKubelet = async () => {
    const context: ComponentContext = {
      ...cluster.contextFor(`system:node:${NODE}`, ["system:nodes"], { fieldSelectors: ownObjects(NODE) }),
      log,
      spawn: (name, run) =>
        void run().catch((err: unknown) => {
          failures.push(err)
          console.error(`${name} failed`, err)
        }),
    }
    kubelet = createKubelet(context, {
      nodeName: NODE,
      externalIps: [],
      nodeIps: ["10.0.0.1"],
      root,
      podLogs: join(folder, "pods"),
      containerLogs: join(folder, "containers"),
      staticPods: join(folder, "data/agent/pod-manifests"),
      devicePlugins: join(folder, "device-plugins"),
      podResources: join(folder, "pod-resources"),
      clusterDns: ["10.43.0.10"],
      clusterDomain: "cluster.local",
      resolvConf: "/etc/resolv.conf",
      maxPods: 110,
      cgroupDriver: "cgroupfs",
      labels: {},
      taints: [],
      syncFrequencyMs: 0,
      nodes,
      serving: "nowhere",
      runtime: criRuntime(containerd.cri, "cgroupfs", realClock),
    })
    await kubelet.start(AbortSignal.timeout(10_000))
  }
  await startKubelet()

  return {
    cluster,
    containerd,
    paths,
    folder,
    unique,
    startKubelet,
    get connector() {
      return nodes.get(NODE)!
    },
    stopKubelet: () => kubelet.stop(),
    create: (name, spec) =>
      cluster.client.create(Pod, { metadata: { name, namespace: "default" }, spec: { nodeName: NODE, ...spec } }),
    async pod(name, wanted) {
      const [found] = await cluster.eventually(
        Pod,
        { namespace: "default", fields: `metadata.name=${name}` },
        ([pod]) => pod !== undefined && wanted(pod),
      )
      return found!
    },
    gone: (name) => cluster.eventually(async () => (await cluster.find(Pod, name)) === undefined),
    events: async (name) =>
      (await cluster.list(Event))
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ reason = "" }) => reason),
    async stop() {
      await kubelet.stop()
      await cluster.stop()
      await containerd.stop()
      containerd.cri.close()
      // Pods that are still terminating are removed together with their runtime. Ending them through the runtime as
      // well would remove their network twice at the same time.
      await tearDown(paths, realClock, { bridge, egress: false })
      const cgroups = hostCgroups("cgroupfs", realClock)
      for (const uid of readdirSync(join(root, "pods"))) await removePodCgroups({ cgroups }, uid)
      const mounts = () =>
        readFileSync("/proc/self/mountinfo", "utf8")
          .split("\n")
          .map((line) => line.split(" ")[4] ?? "")
          .filter((path) => path.startsWith(`${folder}/`))
      // The folder for secrets is a tmpfs.
      for (const path of mounts()) spawnSync("umount", ["-l", path])
      rmSync(folder, { recursive: true, force: true })
      return { mounts: mounts(), failures }
    },
  }
}

function testImage(): ReturnType<typeof buildImageArchive> {
  const programs = ["sh", "sleep", "echo", "cat", "true", "false", "httpd", "nc", "id", "hostname", "touch", "rm"]
  return buildImageArchive({
    name: IMAGE,
    layers: [
      {
        files: [
          { type: "directory", path: "bin" },
          { type: "directory", path: "tmp", mode: 0o1777 },
          { type: "directory", path: "www" },
          { type: "file", path: "www/index.html", mode: 0o644, data: Buffer.from("hello\n") },
          { type: "file", path: "bin/busybox", mode: 0o755, data: readFileSync(busybox!) },
          ...programs.map((name) => ({ type: "symlink" as const, path: `bin/${name}`, target: "busybox" })),
        ],
      },
    ],
    config: { Env: ["PATH=/bin"], Cmd: ["sh"] },
  })
}
