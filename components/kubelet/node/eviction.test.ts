import { describe, expect, test } from "bun:test"
import type { Image } from "../../../pkg/cri/image.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { DEFAULT_TUNING, type KubeletTuning } from "../model/tuning.ts"
import { EvictionManager, evictionOrder } from "./eviction.ts"
import { remains } from "../pod/ending/garbage.ts"
import { imagesToRemove } from "../images/image-garbage.ts"
import { podOf, runOf, runtimeOf, sandboxOf } from "../testing/pod.ts"

const pod = (name: string, priority = 0) => podOf({ priority }, { metadata: { name } })

describe("under pressure the kubelet", () => {
  test("evicts first pods above their requests, then those of low priority, then those furthest above", () => {
    const order = evictionOrder([
      { pod: pod("within"), used: 5, requested: 10 },
      { pod: pod("little"), used: 11, requested: 10 },
      { pod: pod("much"), used: 100, requested: 10 },
      { pod: pod("important", 100), used: 1000, requested: 10 },
      { pod: pod("system", 2_000_000_000), used: 1000, requested: 0 },
    ])
    expect(order.map(({ pod: { metadata } }) => metadata.name)).toEqual(["much", "little", "important", "within"])
  })

  test("removes unused images, the longest unused first, and no more than needed", () => {
    const image = (id: string, more: Partial<Image> = {}): Image => ({
      id,
      repoTags: [`${id}:1`],
      repoDigests: [],
      size: 100,
      username: "",
      pinned: false,
      ...more,
    })
    const images = [image("young"), image("old"), image("older"), image("used"), image("pause", { pinned: true })]
    const lastUsed = new Map([
      ["young", 900_000],
      ["old", 500_000],
      ["older", 100_000],
      ["used", 0],
    ])
    const remove = (bytes: number) =>
      imagesToRemove(images, bytes, new Set(["used:1"]), lastUsed, 1_000_000).map(({ id }) => id)
    expect([remove(0), remove(50), remove(150), remove(1e6)]).toEqual([
      [],
      ["older"],
      ["older", "old"],
      ["older", "old"],
    ])
  })

  test("removes runs of containers except the newest two, and sandboxes without containers", () => {
    const of = podOf({})
    const run = (id: string, sandboxId: string) => runOf(of, "c", { id, sandboxId, exitCode: 1 })
    const left = remains(
      runtimeOf(
        [run("3", "s2"), run("2", "s1"), run("1", "s1"), run("0", "s0")],
        [sandboxOf({ id: "s2" }), sandboxOf({ id: "s1", ready: false }), sandboxOf({ id: "s0", ready: false })],
      ),
    )
    expect([left.containers.map(({ id }) => id), left.sandboxes.map(({ id }) => id)]).toEqual([["1", "0"], ["s0"]])
  })
})

/** A node with one pod and one unused image, and a record of what the kubelet does to them. */
function nodeWith(tuning: Partial<KubeletTuning>) {
  const clock = new VirtualClock(0)
  const done: string[] = []
  /** The images that the runtime cannot remove. */
  const broken = new Set<string>()
  /** What the pod's volume is said to take. */
  const volume = { usedBytes: 0 }
  /** When containerd has measured the writable layer of the pod's container. */
  const layer: { measuredAt?: number } = {}
  const worker = {
    isCleanedUp: true,
    fail: (_: object, graceSeconds: number) => void done.push(`grace ${graceSeconds}`),
  }
  const volumes = [{ name: "v", emptyDir: { sizeLimit: "100" } }]
  const running = podOf({ terminationGracePeriodSeconds: 30, volumes }, { metadata: { name: "web" } })
  const image: Image = { id: "old", repoTags: [], repoDigests: [], size: 5, username: "", pinned: false }
  const context = {
    clock,
    log: silent,
    config: { root: "/", tuning: { ...DEFAULT_TUNING, ...tuning } },
    metrics: { evicted: (signal: string) => done.push(`evicted for ${signal}`) },
    events: { event: () => undefined },
    runtime: {
      files: { size: () => Promise.resolve(undefined) },
      containers: {
        listContainerStats: async () => [
          {
            attributes: { id: "c1", labels: {} },
            writableLayer: { timestamp: (layer.measuredAt ?? clock.now()) * 1e6 },
          },
        ],
      },
      images: {
        listImages: () => Promise.resolve([image]),
        removeImage: (id: string) =>
          broken.has(id)
            ? Promise.reject(new Error("no space left on device"))
            : Promise.resolve(void done.push(`removed ${id}`)),
      },
    },
  }
  const manager = new EvictionManager({
    context: context as never,
    cache: { all: () => [], get: () => runtimeOf([runOf(running, "c", { id: "c1" })]) } as never,
    workers: {
      all: () => [{ stage: "running", pod: running }],
      get: () => worker,
    } as never,
    volumeUsages: {
      measure: () =>
        Promise.resolve(new Map([["u1", [{ volume: running.spec.volumes![0]!, measured: volume }]]]) as never),
    },
    images: { lastUsed: new Map(), removed: async ({ id }) => void done.push(`forgot ${id}`) },
  })
  const disk = (available: number) => manager.relieve({ "imagefs.available": { available, capacity: 100 } })
  const memory = (available: number) => manager.relieve({ "memory.available": { available, capacity: 100 } })
  const nodefs = (available: number) => manager.relieve({ "nodefs.available": { available, capacity: 100 } })
  return { clock, done, broken, volume, layer, worker, disk, memory, nodefs }
}

describe("configured thresholds", () => {
  test("evict a pod with its grace period after a soft threshold was exceeded for its time, and at once below a hard one", async () => {
    // given
    const { clock, done, memory } = nodeWith({
      eviction: {
        hard: { "memory.available": { count: 10 } },
        soft: { "memory.available": { amount: { count: 50 }, graceMs: 60_000 } },
        mostGraceSeconds: 20,
        transitionMs: 0,
      },
    })
    // when memory becomes short, recovers, and stays short
    await memory(40)
    await clock.advance(50_000)
    await memory(60)
    await clock.advance(20_000)
    await memory(40)
    await clock.advance(59_000)
    await memory(40)
    expect(done).toEqual([])
    await clock.advance(1000)
    await memory(40)
    // then
    expect(done.splice(0)).toEqual(["evicted for memory.available", "grace 20"])
    await memory(9)
    expect(done).toEqual(["evicted for memory.available", "grace 0"])
  })

  test("evict no other pod until the evicted one has given back what it had, or for half a minute", async () => {
    // given
    const { clock, done, worker, memory } = nodeWith({
      eviction: { hard: { "memory.available": { count: 10 } }, soft: {}, mostGraceSeconds: 0, transitionMs: 0 },
    })
    worker.isCleanedUp = false
    // when
    await memory(9)
    await clock.advance(10_000)
    await memory(9)
    // then
    expect(done.splice(0)).toEqual(["evicted for memory.available", "grace 0"])
    await clock.advance(20_000)
    await memory(9)
    expect(done.splice(0)).toEqual(["evicted for memory.available", "grace 0"])
    worker.isCleanedUp = true
    await memory(9)
    expect(done).toEqual(["evicted for memory.available", "grace 0"])
  })

  test("free more than the threshold where the kubelet is told how much, of images and of pods", async () => {
    // given
    const { clock, done, memory, nodefs } = nodeWith({
      eviction: {
        hard: { "memory.available": { count: 10 }, "nodefs.available": { count: 10 } },
        soft: {},
        mostGraceSeconds: 0,
        transitionMs: 0,
      },
      minimumReclaim: { "memory.available": { count: 20 }, "nodefs.available": { fraction: 0.3 } },
    })
    // when memory has been short, then pods are evicted until there are 30
    await memory(29)
    expect(done).toEqual([])
    await memory(9)
    await memory(29)
    expect(done.splice(0)).toHaveLength(4)
    await memory(30)
    await memory(29)
    expect(done).toEqual([])
    // and an image is removed while there is less than 40 of the disk
    await clock.advance(600_000)
    await nodefs(9)
    expect(done).toEqual(["removed old", "forgot old"])
  })

  test("keep an unused image as long as the kubelet is told", async () => {
    const { clock, done, disk } = nodeWith({ imageGc: { highPercent: 85, lowPercent: 80 }, imageMinAgeMs: 3_600_000 })
    await clock.advance(3_599_000)
    await disk(15)
    expect(done).toEqual([])
    await clock.advance(1000)
    await disk(15)
    expect(done).toEqual(["removed old", "forgot old"])
  })

  test("remove unused images above the high threshold, down to the low threshold", async () => {
    const { clock, done, disk } = nodeWith({ imageGc: { highPercent: 85, lowPercent: 80 } })
    await clock.advance(600_000) // the image was not used for as long
    await disk(16)
    expect(done).toEqual([])
    await disk(15)
    expect(done).toEqual(["removed old", "forgot old"])
  })
})

const ONLY_DISK = {
  eviction: { hard: { "nodefs.available": { count: 10 } }, soft: {}, mostGraceSeconds: 0, transitionMs: 0 },
}
const EVICTED_FOR_DISK = ["evicted for nodefs.available", "grace 0"]

test("a runtime that cannot remove an image keeps no pod from being evicted", async () => {
  const { clock, done, broken, nodefs } = nodeWith(ONLY_DISK)
  await clock.advance(600_000)
  broken.add("old")
  await nodefs(9)
  expect(done).toEqual(EVICTED_FOR_DISK)
})

test("no other pod is evicted for the disk until containerd has had the time to free what the last one had", async () => {
  // given
  const { clock, done, worker, nodefs } = nodeWith(ONLY_DISK)
  worker.isCleanedUp = false
  await nodefs(9)
  expect(done.splice(0)).toEqual(EVICTED_FOR_DISK)
  // when its volumes are gone, but the disk is not free yet
  worker.isCleanedUp = true
  await clock.advance(1000)
  await nodefs(9)
  await clock.advance(4000)
  await nodefs(9)
  await clock.advance(24_000)
  await nodefs(9)
  expect(done).toEqual([])
  // then the next is evicted later
  await clock.advance(2000)
  await nodefs(9)
  expect(done).toEqual(EVICTED_FOR_DISK)
})

test("no pod is evicted for the disk by what containerd measured before it was short, unless it does not measure again", async () => {
  // given
  const { clock, done, broken, layer, nodefs } = nodeWith(ONLY_DISK)
  broken.add("old")
  await clock.advance(60_000)
  // when the disk becomes short
  layer.measuredAt = clock.now() - 1
  await nodefs(9)
  await clock.advance(9000)
  await nodefs(9)
  expect(done).toEqual([])
  layer.measuredAt = clock.now()
  await nodefs(9)
  // then
  expect(done.splice(0)).toEqual(EVICTED_FOR_DISK)
  // and when it is short again, and nothing is measured
  await nodefs(50)
  await clock.advance(60_000)
  await nodefs(9)
  await clock.advance(14_000)
  await nodefs(9)
  expect(done).toEqual([])
  await clock.advance(1000)
  await nodefs(9)
  expect(done).toEqual(EVICTED_FOR_DISK)
})

test("another pod is evicted soon when the disk of the last one was freed, and is full again", async () => {
  // given
  const { clock, done, worker, nodefs } = nodeWith(ONLY_DISK)
  worker.isCleanedUp = false
  await nodefs(1)
  worker.isCleanedUp = true
  await clock.advance(1000)
  await nodefs(1)
  done.length = 0
  // when more than a twentieth is free again, but less than the threshold
  await clock.advance(5000)
  await nodefs(8)
  // then
  expect(done).toEqual(EVICTED_FOR_DISK)
})

test("no other pod is evicted for the disk that a pod beyond its own limit has filled", async () => {
  // given
  const { clock, done, worker, volume, nodefs } = nodeWith(ONLY_DISK)
  worker.isCleanedUp = false
  // when
  volume.usedBytes = 101
  await nodefs(9)
  volume.usedBytes = 0
  await clock.advance(1000)
  await nodefs(9)
  // then it alone has ended
  expect(done).toEqual(["grace 0"])
})
