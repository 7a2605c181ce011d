import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { volumeHost, type VolumeHost } from "./volume-host.fixtures.ts"

describe("the folder of a local volume", () => {
  let host: VolumeHost
  /** The groups to which the folder was given. */
  let groups: number[]
  beforeEach(async () => {
    host = await volumeHost()
    groups = []
    const path = join(host.root, "disk")
    await mkdir(path)
    // A real change of the group needs root rights.
    const files = host.context.runtime.volumes
    spyOn(files, "setOwnership").mockImplementation(async (_, { group }) => void groups.push(group))
    spyOn(files, "groupOf").mockImplementation(async () => groups.at(-1))
    const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "a", operator: "Exists" as const }] }] }
    await host.bind(await host.createVolume("claim", { local: { path }, nodeAffinity: { required } }))
  })
  afterEach(() => host.stop())

  /** Creates a pod of this fsGroup that uses the volume. */
  const podOf = (name: string, fsGroup: number, readOnly = false) =>
    host.createPod(name, {
      securityContext: { fsGroup },
      volumes: [{ name: "v", persistentVolumeClaim: { claimName: "claim", readOnly } }],
    })

  test("keeps the group of the first pod while others use it too, and an event says so", async () => {
    const { volumes, signal, told } = host
    // given a pod that uses it
    const first = await podOf("first", 100)
    await volumes.mount(first, signal)
    // when one of the same group comes, and one of another
    await volumes.mount(await podOf("same", 100), signal)
    const other = await podOf("other", 200)
    await volumes.mount(other, signal)
    // then
    expect(groups).toEqual([100])
    expect(told).toEqual([
      "AlreadyMountedVolume: The requested fsGroup is 200, but the volume pv-claim has GID 100. " +
        "The volume may not be shareable.",
    ])
  })

  test("gets the group of the next pod when all others have gone", async () => {
    const { volumes, signal, told } = host
    const [first, next] = [await podOf("first", 100), await podOf("next", 200)]
    await volumes.mount(first, signal)
    await volumes.unmount({ namespace: "default", name: "first", uid: first.metadata.uid! })
    await volumes.mount(next, signal)
    expect(groups).toEqual([100, 200])
    expect(told).toEqual([])
  })

  test("keeps its group after a restart of the kubelet, whichever pod comes first", async () => {
    const { cluster, volumes, signal, told } = host
    // given a pod that has run
    const pod = await podOf("p", 100)
    await volumes.mount(pod, signal)
    const status = { containerStatuses: [{ ...NEVER_RAN, containerID: "containerd://1" }] }
    const running = await cluster.client.patch(
      Pod,
      pod.metadata,
      { type: "merge", body: { status } },
      { subresource: "status" },
    )
    // when
    await host.restart().mount(running, signal)
    // then
    expect(groups).toEqual([100])
    expect(told).toEqual([])
  })

  test("keeps its group for a pod that may only read", async () => {
    const { volumes, signal } = host
    await volumes.mount(await podOf("p", 100, true), signal)
    expect(groups).toEqual([])
  })
})

const NEVER_RAN = { name: "main", image: "x", imageID: "", ready: false, restartCount: 0 }
