/**
 * Files with metadata of the pod. After downwardapi_volume.go and projected_downwardapi.go of test/e2e/common/storage.
 */
import { expect } from "bun:test"
import type { ContainerSpec, PodInput, PodSpec } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

type Volume = NonNullable<PodSpec["volumes"]>[number]
type Item = NonNullable<NonNullable<Volume["downwardAPI"]>["items"]>[number]

const plain = (items: readonly Item[], defaultMode?: number): Volume => ({
  name: "podinfo",
  downwardAPI: { items, ...(defaultMode === undefined ? {} : { defaultMode }) },
})
const projected = (items: readonly Item[], defaultMode?: number): Volume => ({
  name: "podinfo",
  projected: { sources: [{ downwardAPI: { items } }], ...(defaultMode === undefined ? {} : { defaultMode }) },
})
const field = (path: string, more: Partial<Item> = {}): Item => ({
  path,
  fieldRef: { fieldPath: path === "podname" ? "metadata.name" : `metadata.${path}` },
  ...more,
})
const resource = (path: string, of: string): Item => ({
  path,
  resourceFieldRef: { containerName: "c", resource: of },
})
const resources = { requests: { cpu: "250m", memory: "32Mi" }, limits: { cpu: "1250m", memory: "64Mi" } }
const podOf = (volume: Volume, container: Partial<ContainerSpec> = {}): PodInput => ({
  volumes: [volume],
  containers: [{ volumeMounts: [{ name: "podinfo", mountPath: "/etc/podinfo" }], ...container }],
})

/** Returns the titles of one behaviour for both types of volume. */
const both = ([one, other]: readonly [string, string]): readonly (readonly [
  string,
  (items: readonly Item[], defaultMode?: number) => Volume,
])[] => [
  [one, plain],
  [other, projected],
]

describeStandIns("volumes of the downward API", (standIn) => {
  for (const [title, volume] of both([
    "Downward API volume should provide podname only",
    "Projected downwardAPI should provide podname only",
  ]))
    standIn(title, async (ns) => {
      const { volumes, containers } = podOf(volume([field("podname")]))
      expect(await ns.output("name-of-pod", "cat /etc/podinfo/podname", containers![0], { volumes: volumes! })).toBe(
        "name-of-pod",
      )
    })

  for (const [title, volume] of both([
    "Downward API volume should set DefaultMode on files",
    "Projected downwardAPI should set DefaultMode on files",
  ]))
    standIn(title, async (ns) => {
      const { volumes, containers } = podOf(volume([field("podname")], 0o400))
      const script = "stat -L -c %A /etc/podinfo/podname"
      expect(await ns.output("pod", script, containers![0], { volumes: volumes! })).toBe("-r--------\n")
    })

  for (const [title, volume] of both([
    "Downward API volume should set mode on item file",
    "Projected downwardAPI should set mode on item file",
  ]))
    standIn(title, async (ns) => {
      const { volumes, containers } = podOf(volume([field("podname", { mode: 0o400 })]))
      const script = "stat -L -c %A /etc/podinfo/podname"
      expect(await ns.output("pod", script, containers![0], { volumes: volumes! })).toBe("-r--------\n")
    })

  for (const [title, volume] of both([
    "Downward API volume should update labels on modification",
    "Projected downwardAPI should update labels on modification",
  ]))
    standIn(title, async (ns) => {
      await ns.runPod("pod", {
        ...podOf(volume([field("labels")])),
        metadata: { labels: { key1: "value1", key2: "value2" } },
      })
      expect(await ns.sh("pod", "cat /etc/podinfo/labels")).toBe('key1="value1"\nkey2="value2"')
      await ns.cluster.patch(`${ns.path}/pods/pod`, "merge", { metadata: { labels: { key3: "value3" } } })
      await ns.untilSh("pod", "cat /etc/podinfo/labels", (out) => out.endsWith('\nkey3="value3"'))
    })

  for (const [title, volume] of both([
    "Downward API volume should update annotations on modification",
    "Projected downwardAPI should update annotations on modification",
  ]))
    standIn(title, async (ns) => {
      await ns.runPod("pod", {
        ...podOf(volume([field("annotations")])),
        metadata: { annotations: { builder: "bar" } },
      })
      expect(await ns.sh("pod", "cat /etc/podinfo/annotations")).toContain('builder="bar"')
      await ns.cluster.patch(`${ns.path}/pods/pod`, "merge", { metadata: { annotations: { builder: "foo" } } })
      await ns.untilSh("pod", "cat /etc/podinfo/annotations", (out) => out.includes('builder="foo"'))
    })

  for (const { titles, of, wants } of [
    {
      titles: [
        "Downward API volume should provide container's cpu limit",
        "Projected downwardAPI should provide container's cpu limit",
      ] as const,
      of: "limits.cpu",
      wants: "2",
    },
    {
      titles: [
        "Downward API volume should provide container's cpu request",
        "Projected downwardAPI should provide container's cpu request",
      ] as const,
      of: "requests.cpu",
      wants: "1",
    },
    {
      titles: [
        "Downward API volume should provide container's memory limit",
        "Projected downwardAPI should provide container's memory limit",
      ] as const,
      of: "limits.memory",
      wants: String(64 * 2 ** 20),
    },
    {
      titles: [
        "Downward API volume should provide container's memory request",
        "Projected downwardAPI should provide container's memory request",
      ] as const,
      of: "requests.memory",
      wants: String(32 * 2 ** 20),
    },
  ])
    for (const [title, volume] of both(titles))
      standIn(title, async (ns) => {
        const { volumes, containers } = podOf(volume([resource("value", of)]), { resources })
        expect(await ns.output("pod", "cat /etc/podinfo/value", containers![0], { volumes: volumes! })).toBe(wants)
      })

  for (const { titles, of } of [
    {
      titles: [
        "Downward API volume should provide node allocatable (cpu) as default cpu limit if the limit is not set",
        "Projected downwardAPI should provide node allocatable (cpu) as default cpu limit if the limit is not set",
      ] as const,
      of: "cpu",
    },
    {
      titles: [
        "Downward API volume should provide node allocatable (memory) as default memory limit if the limit is not set",
        "Projected downwardAPI should provide node allocatable (memory) as default memory limit if the limit is not set",
      ] as const,
      of: "memory",
    },
  ])
    for (const [title, volume] of both(titles))
      standIn(title, async (ns) => {
        const { volumes, containers } = podOf(volume([resource("value", `limits.${of}`)]))
        const told = await ns.output("pod", "cat /etc/podinfo/value", containers![0], { volumes: volumes! })
        const [node] = (await ns.cluster.get("/api/v1/nodes")).items
        const allocatable = (node!.status["allocatable"] as Record<string, string>)[of]!
        expect(told).toBe(allocatable.endsWith("Ki") ? String(Number(allocatable.slice(0, -2)) * 1024) : allocatable)
      })
})
