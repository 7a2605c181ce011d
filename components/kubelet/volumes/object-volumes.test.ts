import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { NAMESPACE, volumeHost, type VolumeHost } from "./volume-host.fixtures.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

describe("volumes with the contents of objects", () => {
  let host: VolumeHost
  beforeEach(async () => {
    host = await volumeHost()
  })
  afterEach(() => host.stop())

  test("contain a ConfigMap and a Secret, all keys or selected ones, with their modes", async () => {
    const { cluster, root, volumes, signal, createPod, configMap, read } = host
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
    const { cluster, volumes, signal, createPod, configMap, setData, read, becomes } = host
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
    const { cluster, volumes, signal, createPod, configMap, read } = host
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
    const { root, volumes, signal, createPod, configMap } = host
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
      `hostPath type check failed: ${root}/none is not a directory, it does not exist`,
    )
    expect(await failure({ nfs: { server: "-T/tmp/fstab", path: "/" } })).toBe(
      'the NFS server "-T/tmp/fstab" must not begin with "-"',
    )
    expect(await failure({ csi: { driver: "x.example" } })).toContain("volumes of kind csi are not supported")
    expect(await failure({ image: { reference: "web" } })).toBe(
      "image volumes need containerd 2.1 or newer, and this is 1.6.20",
    )
    expect(await failure({ persistentVolumeClaim: { claimName: "none" } })).toContain(
      'error processing PVC default/none: failed to fetch PVC from API server: persistentvolumeclaims "none" not found',
    )
  })

  const big = "x".repeat(1024 * 1024 - 100)
  const paths = Array.from({ length: 100 }, (_, i) => ({ key: "a", path: `p${i}` }))
  const multiplied = [
    { what: "a ConfigMap under many paths", volumes: [{ name: "v", configMap: { name: "big", items: paths } }] },
    {
      what: "a Secret in many volumes",
      volumes: paths.map(({ path: name }) => ({ name, secret: { secretName: "big" } })),
    },
    {
      what: "a Secret in many sources",
      volumes: [{ name: "v", projected: { sources: paths.map(() => ({ secret: { name: "big" } })) } }],
    },
    {
      what: "annotations in many files",
      volumes: [
        {
          name: "v",
          downwardAPI: {
            items: Array.from({ length: 300 }, (_, i) => ({
              path: `p${i}`,
              fieldRef: { fieldPath: "metadata.annotations" },
            })),
          },
        },
      ],
    },
  ]
  test.each(multiplied)("have at most 64 MiB of one pod: $what", async ({ volumes: wanted }) => {
    const { cluster, volumes, signal, createPod, configMap } = host
    // given
    await configMap("big", { a: big })
    await cluster.client.create(Secret, { metadata: { namespace: NAMESPACE, name: "big" }, data: { a: base64(big) } })
    const annotations = { "example.com/long": "\u0001".repeat(200 * 1024) }
    const pod = await createPod("p", { volumes: wanted }, { annotations })
    // when, then
    await expect(volumes.mount(pod, signal)).rejects.toThrow("the pod's volumes have more than 67108864 bytes")
  })

  test("are empty while an optional object is missing, and filled when it is created", async () => {
    const { volumes, signal, createPod, configMap, becomes } = host
    // given
    const pod = await createPod("p", { volumes: [{ name: "v", configMap: { name: "cm", optional: true } }] })
    const mounted = await volumes.mount(pod, signal)
    // when
    await configMap("cm", { a: "1" })
    // then
    await becomes(mounted, "v", "a", "1")
  })

  test("keep their files when the object is deleted, and report that once", async () => {
    const { cluster, volumes, told, warned, signal, createPod, configMap, read, until, becomes } = host
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
    const { cluster, volumes, told, signal, createPod, configMap, read } = host
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

  test("contain the pod's current labels", async () => {
    const { cluster, volumes, signal, createPod, read, becomes } = host
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
})
