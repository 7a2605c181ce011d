import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { stat, symlink } from "node:fs/promises"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { createEnvironment } from "../env/environment.ts"
import { NAMESPACE, volumeHost, type VolumeHost } from "./volume-host.fixtures.ts"

describe("the volumes of pods", () => {
  let host: VolumeHost
  beforeEach(async () => {
    host = await volumeHost()
  })
  afterEach(() => host.stop())

  test("that cannot be mounted are reported together", async () => {
    const { volumes, told, signal, createPod } = host
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

  test("of a bound claim are the folder of its PersistentVolume", async () => {
    const { root, volumes, signal, createPod, createVolume, bind } = host
    // given a claim and its volume
    const folder = join(root, "store")
    const made = await createVolume("claim", { hostPath: { path: folder, type: "DirectoryOrCreate" } })
    const pod = await createPod("p", {
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "claim", readOnly: true } }],
    })
    await expect(volumes.mount(pod, signal)).rejects.toThrow("error processing PVC default/claim: PVC is not bound")
    // when the claim is bound
    await bind(made)
    // then
    expect((await volumes.mount(pod, signal)).get("v")).toEqual({ name: "v", hostPath: folder, readOnly: true })
    expect((await stat(folder)).isDirectory()).toBe(true)
  })

  test("that cannot be mounted are named as in Kubernetes: a PersistentVolume by its name, a claim by the pod's", async () => {
    const { root, volumes, signal, createPod, createVolume, bind } = host
    // given a claim whose volume has a folder that is not there
    const made = await createVolume("claim", { hostPath: { path: join(root, "none"), type: "Directory" } })
    const pod = await createPod("p", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "claim" } }] })
    // then
    await expect(volumes.mount(pod, signal)).rejects.toThrow(
      "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: " +
        "error processing PVC default/claim: PVC is not bound",
    )
    // and when it is bound
    await bind(made)
    await expect(volumes.mount(pod, signal)).rejects.toThrow(
      'MountVolume.SetUp failed for volume "pv-claim" : hostPath type check failed',
    )
  })

  test("are found unchanged by a restarted kubelet", async () => {
    const { volumes, signal, createPod, configMap, setData, becomes } = host
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
    // when another kubelet starts
    const restarted = host.restart()
    expect(await restarted.podsOnDisk()).toEqual([pod.metadata.uid!])
    const after = await restarted.mount(pod, signal)
    // then it has written nothing, and follows changes again
    expect(Object.fromEntries(after)).toEqual(Object.fromEntries(before))
    expect((await stat(join(after.get("v")!.hostPath, "a"))).ino).toBe(ino)
    await setData("cm", { a: "2" })
    await becomes(after, "v", "a", "2")
  })

  test("of a running pod are updated again after a restart, even if an object was missing then", async () => {
    const { cluster, volumes, signal, createPod, configMap, read, becomes } = host
    // given a running pod whose ConfigMap was deleted while no kubelet ran
    await configMap("cm", { a: "1" })
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm" } }] })
    const mounted = await volumes.mount(pod, signal)
    await cluster.client.delete(ConfigMap, { namespace: NAMESPACE, name: "cm" })
    const restarted = host.restart()
    await expect(restarted.mount(pod, signal)).rejects.toThrow('configmap "cm" not found')
    expect(await read(mounted, "v", "a")).toBe("1")
    // when the ConfigMap is created again, then its files follow without a synchronization of the pod
    await configMap("cm", { a: "2" })
    await becomes(mounted, "v", "a", "2")
  })

  test("cause another attempt to start the pod when an object that a variable needs is created", async () => {
    const { cluster, context, volumes, signal, createPod, configMap } = host
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
    const { volumes, signal, createPod, configMap } = host
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
    { title: "without a value", subPathExpr: "$(POD)/x", wants: "missing value for POD" },
    {
      title: "that becomes an absolute path",
      subPathExpr: "$(ABS)",
      wants: "error SubPath `/etc` must not be an absolute path",
    },
    { title: "that leads out of the volume", subPathExpr: "$(UP)", wants: "unable to provision SubPath `../up`" },
  ])("refuse a subPathExpr $title", async ({ subPathExpr, wants }) => {
    const { volumes, signal, createPod } = host
    const pod = await createPod("p", {
      volumes: [{ name: "e", emptyDir: {} }],
      containers: [{ name: "main", image: "x", volumeMounts: [{ name: "e", mountPath: "/d", subPathExpr }] }],
    })
    const mounted = await volumes.mount(pod, signal)
    await expect(
      volumes.containerMounts(pod, pod.spec.containers[0]!, mounted, [
        { key: "ABS", value: "/etc" },
        { key: "UP", value: "../up" },
      ]),
    ).rejects.toThrow(wants)
  })

  test("with a subPath that leads out of them say so in the log once, however often the container is tried", async () => {
    const { volumes, signal, warned, createPod } = host
    // given a link in a volume that leads out of it
    const volumeMounts = [{ name: "e", mountPath: "/d", subPath: "out" }]
    const pod = await createPod("p", {
      volumes: [{ name: "e", emptyDir: {} }],
      containers: [{ name: "main", image: "x", volumeMounts }],
    })
    const mounted = await volumes.mount(pod, signal)
    await symlink("/etc", join(mounted.get("e")!.hostPath, "out"))
    // when the container is tried again and again
    for (let tries = 0; tries < 3; tries++)
      await expect(volumes.containerMounts(pod, pod.spec.containers[0]!, mounted, [])).rejects.toThrow(
        'failed to prepare subPath for volumeMount "e" of container "main"',
      )
    // then
    expect(warned.filter((message) => message === "Failed to prepare a subPath")).toHaveLength(1)
  })
})
