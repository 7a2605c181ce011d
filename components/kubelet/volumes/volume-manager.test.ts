import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdtemp, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { silent, type Logger } from "../../../pkg/log/log.ts"
import { startCluster, type Cluster } from "../../cluster/testing/cluster.ts"
import type { KubeletContext } from "../context.ts"
import { createEnvironment } from "../env/environment.ts"
import { hostVolumes } from "../runtime/cri/volumes/host-volumes.ts"
import { KubeletMetrics } from "../metrics/kubelet-metrics.ts"
import type { ContainerRuntime } from "../runtime/runtime.ts"
import type { MountedVolumes } from "./mounted-volume.ts"
import type { VolumeManager } from "./volume-manager.ts"
import { ownObjects } from "../objects/own-objects.ts"
import { createVolumeManager } from "./volume-manager.ts"

const NAMESPACE = "default"
const base64 = (text: string) => Buffer.from(text).toString("base64")

describe("the volumes of pods", () => {
  let cluster: Cluster
  let root: string
  let context: KubeletContext
  let volumes: VolumeManager
  let told: string[]
  let warned: string[]
  const { signal } = new AbortController()

  beforeEach(async () => {
    cluster = await startCluster({ components: { scheduler: false, controllers: false } })
    root = await mkdtemp(join(tmpdir(), "k3ts-pods-"))
    told = []
    // A folder replaces the tmpfs, so that the test needs no root rights.
    const files = { ...hostVolumes(), memoryFolder: async () => join(root, "memory") }
    const runtime = {
      volumes: files,
      machine: { cpus: 4, memoryBytes: 8 * 2 ** 30, hugepages: {}, space: async () => ({ capacityBytes: 100 }) },
      containers: { version: async () => ({ runtimeName: "containerd", runtimeVersion: "1.6.20" }) },
    }
    warned = []
    const log: Logger = { ...silent, warn: (message: string) => void warned.push(message), child: () => log }
    context = {
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
      networkReady: () => Promise.resolve(),
      port: () => 0,
      events: {
        event: (_about: KubeObject, _type: string, reason: string, message: string) =>
          void told.push(`${reason}: ${message}`),
        stop: async () => undefined,
      },
    }
    volumes = createVolumeManager(context)
    await cluster.client.create(ServiceAccount, { metadata: { namespace: NAMESPACE, name: "default" } })
    await cluster.client.create(Node, { metadata: { name: "node-0" } })
  })
  afterEach(async () => {
    volumes.stop()
    await cluster.stop()
    await rm(root, { recursive: true, force: true })
  })

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

  test("show a ConfigMap and a Secret, all keys or selected ones, with their modes", async () => {
    // given
    await configMap("cm", { a: "1", b: "2" }, { binaryData: { raw: base64("\u0000\u0001") } })
    await cluster.client.create(Secret, {
      metadata: { namespace: NAMESPACE, name: "sec" },
      data: { password: base64("pw") },
    })
    const pod = await createPod("p", {
      volumes: [
        { name: "all", configMap: { name: "cm" } },
        {
          name: "some",
          configMap: {
            name: "cm",
            defaultMode: 0o400,
            items: [
              { key: "a", path: "deep/a" },
              { key: "b", path: "b", mode: 0o755 },
            ],
          },
        },
        { name: "secret", secret: { secretName: "sec", defaultMode: 0o440 } },
      ],
    })
    // when
    const mounted = await volumes.mount(pod, signal)
    // then
    expect([
      await read(mounted, "all", "a"),
      await read(mounted, "all", "b"),
      await read(mounted, "all", "raw"),
      await read(mounted, "some", "deep/a"),
      await read(mounted, "secret", "password"),
    ]).toEqual(["1", "2", "\u0000\u0001", "1", "pw"])
    const mode = async (volume: string, path: string) =>
      (await stat(join(mounted.get(volume)!.hostPath, path))).mode & 0o777
    expect([
      await mode("all", "a"),
      await mode("some", "deep/a"),
      await mode("some", "b"),
      await mode("secret", "password"),
    ]).toEqual([0o644, 0o400, 0o755, 0o440])
    expect([...mounted.values()].every(({ readOnly }) => readOnly)).toBe(true)
    expect(mounted.get("secret")!.hostPath).toBe(join(root, "memory", pod.metadata.uid!, "kubernetes.io~secret/secret"))
  })

  test("follow changes of their objects while the pod runs, and are removed with the pod", async () => {
    // given
    await configMap("cm", { a: "old" })
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm" } }] })
    const mounted = await volumes.mount(pod, signal)
    // when the ConfigMap changes twice in a row
    await setData("cm", { a: "between" })
    await setData("cm", { a: "new", b: "more" })
    // then the files have the last change
    await becomes(mounted, "v", "b", "more")
    expect(await read(mounted, "v", "a")).toBe("new")
    // and when the pod is gone, its folder is gone too
    await volumes.unmount({ uid: pod.metadata.uid!, namespace: NAMESPACE, name: "p" })
    await setData("cm", { a: "later" })
    await cluster.settle()
    await expect(stat(mounted.get("v")!.hostPath)).rejects.toThrow("ENOENT")
    expect(await volumes.podsOnDisk()).toEqual([])
  })

  test("report a missing object by an event, and are mounted as soon as it exists", async () => {
    // given a pod whose ConfigMap does not exist
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm" } }] })
    const woken: string[] = []
    volumes.onUpdate((uid) => woken.push(uid))
    await expect(volumes.mount(pod, signal)).rejects.toThrow(
      'MountVolume.SetUp failed for volume "v" : configmap "cm" not found',
    )
    await expect(volumes.mount(pod, signal)).rejects.toThrow('configmap "cm" not found')
    expect(woken).toEqual([])
    // when the ConfigMap is created
    await configMap("cm", { a: "1" })
    await cluster.settle()
    // then
    expect(woken).toEqual([pod.metadata.uid!])
    expect(await read(await volumes.mount(pod, signal), "v", "a")).toBe("1")
  })

  test("report missing objects with the names of the volumes", async () => {
    // given
    await configMap("cm", { a: "1" })
    const failure = async (volume: object) =>
      volumes.mount(await createPod(`p${names++}`, { volumes: [{ name: "v", ...volume }] }), signal).then(
        () => "",
        (err: Error) => err.message.replace(/^MountVolume.*? : /, ""),
      )
    let names = 0
    // then
    expect(await failure({ secret: { secretName: "none" } })).toBe('secret "none" not found')
    expect(await failure({ configMap: { name: "cm", items: [{ key: "z", path: "z" }] } })).toBe(
      "configmap references non-existent config key: z",
    )
    expect(await failure({ projected: { sources: [{ secret: { name: "s1" } }, { configMap: { name: "c1" } }] } })).toBe(
      '[secret "s1" not found, configmap "c1" not found]',
    )
    expect(await failure({ emptyDir: { medium: "HugePages" } })).toContain(
      'emptyDir medium "HugePages" is not supported',
    )
    expect(await failure({ hostPath: { path: join(root, "none"), type: "Directory" } })).toBe(
      `hostPath ${root}/none doesn't exist`,
    )
    expect(await failure({ csi: { driver: "x.example" } })).toContain("volumes of kind csi are not supported")
    expect(await failure({ image: { reference: "web" } })).toBe(
      "image volumes need containerd 2.1 or newer, and this is 1.6.20",
    )
    expect(await failure({ persistentVolumeClaim: { claimName: "none" } })).toBe(
      'error processing PVC default/none: failed to fetch PVC from API server: persistentvolumeclaims "none" not found',
    )
  })

  test("that cannot be mounted are all reported", async () => {
    // given a pod that lacks two objects
    const pod = await createPod("p", {
      volumes: [
        { name: "v", configMap: { name: "cm" } },
        { name: "w", secret: { secretName: "sec" } },
        { name: "e", emptyDir: {} },
      ],
    })
    // then the error names one of them, and an event the other
    await expect(volumes.mount(pod, signal)).rejects.toThrow(
      'MountVolume.SetUp failed for volume "v" : configmap "cm" not found',
    )
    expect(told).toEqual(['FailedMount: MountVolume.SetUp failed for volume "w" : secret "sec" not found'])
  })

  test("are empty while an optional object is missing, and filled when it is created", async () => {
    // given
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm", optional: true } }] })
    const mounted = await volumes.mount(pod, signal)
    // when
    await configMap("cm", { a: "1" })
    // then
    await becomes(mounted, "v", "a", "1")
  })

  test("keep their files when the object is deleted, and report that once", async () => {
    // given
    await configMap("cm", { a: "1" })
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm" } }] })
    const mounted = await volumes.mount(pod, signal)
    // when
    await cluster.client.delete(ConfigMap, { namespace: NAMESPACE, name: "cm" })
    await until(async () => told.length > 0)
    // then
    expect([await read(mounted, "v", "a"), warned]).toEqual(["1", []])
    expect(told).toEqual(['FailedMount: MountVolume.SetUp failed for volume "v" : configmap "cm" not found'])
    // and the files of a new object replace them
    await configMap("cm", { a: "2" })
    await becomes(mounted, "v", "a", "2")
  })

  test("do not follow an immutable object", async () => {
    // given
    await configMap("cm", { a: "1" }, { immutable: true })
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm" } }] })
    const mounted = await volumes.mount(pod, signal)
    // when another ConfigMap replaces it
    await cluster.client.delete(ConfigMap, { namespace: NAMESPACE, name: "cm" })
    await configMap("cm", { a: "2" })
    await cluster.settle()
    // then
    expect([await read(mounted, "v", "a"), told.length]).toEqual(["1", 0])
  })

  test("show the pod's current labels", async () => {
    // given
    const pod = await createPod(
      "p",
      {
        volumes: [
          {
            name: "v",
            downwardAPI: {
              items: [
                { path: "labels", fieldRef: { fieldPath: "metadata.labels" } },
                { path: "cpu", resourceFieldRef: { containerName: "main", resource: "limits.cpu" } },
              ],
            },
          },
        ],
      },
      { labels: { a: "1" } },
    )
    const mounted = await volumes.mount(pod, signal)
    expect([await read(mounted, "v", "labels"), await read(mounted, "v", "cpu")]).toEqual(['a="1"', "4"])
    // when
    await cluster.client.patch(Pod, pod.metadata, { type: "merge", body: { metadata: { labels: { a: "2", b: "3" } } } })
    // then
    await becomes(mounted, "v", "labels", 'a="2"\nb="3"')
  })

  test("hold a token that is bound to the pod, and renew it after four fifths of its life", async () => {
    // given the projected volume that admission adds to pods
    await configMap("kube-root-ca.crt", { "ca.crt": "CA" })
    const pod = await createPod("p", {
      volumes: [
        {
          name: "v",
          projected: {
            sources: [
              { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
              { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
              { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
            ],
          },
        },
      ],
    })
    const mounted = await volumes.mount(pod, signal)
    const first = await read(mounted, "v", "token")
    expect([await read(mounted, "v", "ca.crt"), await read(mounted, "v", "namespace")]).toEqual(["CA", NAMESPACE])
    const claims = JSON.parse(Buffer.from(first.split(".")[1]!, "base64url").toString()) as {
      "kubernetes.io": { pod: { uid: string } }
      exp: number
      iat: number
    }
    expect([claims["kubernetes.io"].pod.uid, claims.exp - claims.iat]).toEqual([pod.metadata.uid!, 3600])
    // when most of its life is over, then the token is still the same
    await cluster.advance(2860 * 1000)
    expect(await read(mounted, "v", "token")).toBe(first)
    // when four fifths are over, then it is a new one
    await cluster.advance(25 * 1000)
    await until(async () => (await read(mounted, "v", "token")) !== first)
    // and the new one is renewed in its turn
    const second = await read(mounted, "v", "token")
    await cluster.advance(2885 * 1000)
    await until(async () => (await read(mounted, "v", "token")) !== second)
  })

  test("of a pod with runAsUser give the token to that user", async () => {
    if (process.getuid?.() !== 0) return console.warn("SKIPPED: owner of a token: needs root")
    // given
    const pod = await createPod("p", {
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
    })
    // when
    const mounted = await volumes.mount(pod, signal)
    // then
    const { uid, gid, mode } = await stat(join(mounted.get("v")!.hostPath, "token"))
    expect([uid, gid, mode & 0o777]).toEqual([1000, 2000, 0o640])
  })

  test("of a bound claim are the folder of its PersistentVolume", async () => {
    // given a claim and its volume
    const folder = join(root, "store")
    const volume = await cluster.client.create(PersistentVolume, {
      metadata: { name: "pv" },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        hostPath: { path: folder, type: "DirectoryOrCreate" },
      },
    })
    const claim = await cluster.client.create(PersistentVolumeClaim, {
      metadata: { namespace: NAMESPACE, name: "claim" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        volumeName: "pv",
        resources: { requests: { storage: "1Gi" } },
      },
    })
    const pod = await createPod("p", {
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "claim", readOnly: true } }],
    })
    await expect(volumes.mount(pod, signal)).rejects.toThrow("error processing PVC default/claim: PVC is not bound")
    // when the claim is bound
    await cluster.client.patch(PersistentVolume, volume.metadata, {
      type: "merge",
      body: {
        spec: {
          claimRef: { kind: "PersistentVolumeClaim", namespace: NAMESPACE, name: "claim", uid: claim.metadata.uid },
        },
      },
    })
    await cluster.client.patch(
      PersistentVolumeClaim,
      claim.metadata,
      { type: "merge", body: { status: { phase: "Bound" } } },
      { subresource: "status" },
    )
    // then
    expect((await volumes.mount(pod, signal)).get("v")).toEqual({ name: "v", hostPath: folder, readOnly: true })
    expect((await stat(folder)).isDirectory()).toBe(true)
  })

  test("are found unchanged by a restarted kubelet", async () => {
    // given
    await configMap("cm", { a: "1" })
    const pod = await createPod("p", {
      volumes: [
        { name: "v", configMap: { name: "cm" } },
        { name: "e", emptyDir: {} },
      ],
    })
    const before = await volumes.mount(pod, signal)
    const { ino } = await stat(join(before.get("v")!.hostPath, "a"))
    volumes.stop()
    // when another kubelet starts
    volumes = createVolumeManager(context)
    expect(await volumes.podsOnDisk()).toEqual([pod.metadata.uid!])
    const after = await volumes.mount(pod, signal)
    // then it has written nothing, and follows changes again
    expect(Object.fromEntries(after)).toEqual(Object.fromEntries(before))
    expect((await stat(join(after.get("v")!.hostPath, "a"))).ino).toBe(ino)
    await setData("cm", { a: "2" })
    await becomes(after, "v", "a", "2")
  })

  test("of a running pod are updated again after a restart, even if an object was missing then", async () => {
    // given a running pod whose ConfigMap was deleted while no kubelet ran
    await configMap("cm", { a: "1" })
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm" } }] })
    const mounted = await volumes.mount(pod, signal)
    volumes.stop()
    await cluster.client.delete(ConfigMap, { namespace: NAMESPACE, name: "cm" })
    volumes = createVolumeManager(context)
    await expect(volumes.mount(pod, signal)).rejects.toThrow('configmap "cm" not found')
    expect(await read(mounted, "v", "a")).toBe("1")
    // when the ConfigMap is created again, then its files follow without a synchronization of the pod
    await configMap("cm", { a: "2" })
    await becomes(mounted, "v", "a", "2")
  })

  test("request a token again that could not be renewed in time", async () => {
    // given a token
    const pod = await createPod("p", {
      volumes: [
        { name: "v", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] } },
      ],
    })
    const mounted = await volumes.mount(pod, signal)
    const first = await read(mounted, "v", "token")
    // when its service account is missing until the token has expired
    await cluster.client.delete(ServiceAccount, { namespace: NAMESPACE, name: "default" })
    await cluster.advance(700_000)
    await until(async () => told.length > 0)
    expect(told[0]).toContain("failed to fetch token")
    await cluster.client.create(ServiceAccount, { metadata: { namespace: NAMESPACE, name: "default" } })
    // then there is a new token soon after
    await cluster.advance(11_000)
    await until(async () => (await read(mounted, "v", "token")) !== first)
  })

  test("cause another attempt to start the pod when an object that a variable needs is created", async () => {
    // given a pod without volumes whose container needs a ConfigMap
    const pod = await createPod("p", {
      containers: [
        { name: "main", image: "x", env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "cm", key: "a" } } }] },
      ],
    })
    const woken: string[] = []
    volumes.onUpdate((uid) => woken.push(uid))
    const mounted = await volumes.mount(pod, signal)
    const request = { pod, container: pod.spec.containers[0]!, podIps: [], hostIps: [], mounted }
    const environment = createEnvironment(context)
    await expect(environment.of(request)).rejects.toThrow('configmap "cm" not found')
    // when
    await configMap("cm", { a: "1" })
    await cluster.settle()
    // then
    expect(woken).toEqual([pod.metadata.uid!])
    expect((await environment.of(request)).find(({ key }) => key === "A")?.value).toBe("1")
  })

  test("become the mounts of a container in its order, read-only where it says so and with subPathExpr expanded", async () => {
    // given
    await configMap("cm", { a: "1" })
    const pod = await createPod("p", {
      volumes: [
        { name: "cm", configMap: { name: "cm" } },
        { name: "e", emptyDir: {} },
      ],
      containers: [
        {
          name: "main",
          image: "x",
          volumeMounts: [
            { name: "e", mountPath: "/data", mountPropagation: "HostToContainer" },
            { name: "cm", mountPath: "/etc/cm" },
            { name: "e", mountPath: "/ro", readOnly: true, recursiveReadOnly: "Disabled" },
          ],
        },
      ],
    })
    const mounted = await volumes.mount(pod, signal)
    // when
    const mounts = await volumes.containerMounts(pod, pod.spec.containers[0]!, mounted, [])
    // then
    expect(
      mounts.map(({ containerPath, hostPath, readonly, propagation }) => [
        containerPath,
        hostPath,
        readonly,
        propagation,
      ]),
    ).toEqual([
      ["/data", mounted.get("e")!.hostPath, false, "PROPAGATION_HOST_TO_CONTAINER"],
      ["/etc/cm", mounted.get("cm")!.hostPath, true, "PROPAGATION_PRIVATE"],
      ["/ro", mounted.get("e")!.hostPath, true, "PROPAGATION_PRIVATE"],
    ])
  })

  test.each([
    [{ subPathExpr: "$(POD)/x" }, "missing value for POD"],
    [{ subPathExpr: "$(ABS)" }, "error SubPath `/etc` must not be an absolute path"],
    [{ subPathExpr: "$(UP)" }, "unable to provision SubPath `../up`"],
  ])("refuse the subPath %p", async (mount, expected) => {
    const pod = await createPod("p", {
      volumes: [{ name: "e", emptyDir: {} }],
      containers: [{ name: "main", image: "x", volumeMounts: [{ name: "e", mountPath: "/d", ...mount }] }],
    })
    const mounted = await volumes.mount(pod, signal)
    await expect(
      volumes.containerMounts(pod, pod.spec.containers[0]!, mounted, [
        { key: "ABS", value: "/etc" },
        { key: "UP", value: "../up" },
      ]),
    ).rejects.toThrow(expected)
  })
})
