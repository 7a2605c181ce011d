import { expect, test } from "bun:test"
import { podOf, runOf, runtimeOf } from "../testing/pod.ts"
import { evictionOrder } from "./eviction.ts"
import { podUsages } from "./pod-usages.ts"

const requests = { "ephemeral-storage": "100" }
const pod = (name: string, container: object = {}) =>
  podOf(
    { containers: [{ name, image: "i", ...container }], volumes: [{ name: "v", emptyDir: {} }] },
    { metadata: { name, uid: name } },
  )

/** A node of three pods: `volume` fills its volume, `log` its log, `layer` its writable layer. */
const PODS = [pod("steady", { resources: { requests } }), pod("volume"), pod("log"), pod("layer")]
const LOGS: Readonly<Record<string, number>> = { "/logs/log": 5000, "/logs/steady": 10 }
const bytes = (value: number) => ({ value })
const parts = {
  context: {
    config: { root: "/kubelet" },
    runtime: {
      files: { size: async (path: string) => LOGS[path] },
      containers: {
        listContainerStats: async () =>
          PODS.map(({ metadata: { uid = "" } }) => ({
            attributes: { id: uid, metadata: { name: uid }, labels: { "io.kubernetes.pod.uid": uid } },
            writableLayer: {
              timestamp: uid === "layer" ? 7_000_000 : 9_000_000,
              usedBytes: bytes(uid === "layer" ? 3000 : 50),
              inodesUsed: bytes(uid === "layer" ? 2 : 1),
            },
            memory: { workingSetBytes: bytes(uid.length) },
          })),
      },
    },
  },
  cache: {
    get: (uid: string) => {
      const of = PODS.find(({ metadata }) => metadata.uid === uid)!
      return runtimeOf([
        runOf(of, uid, { id: uid, pod: { uid, namespace: "default", name: uid }, logPath: `/logs/${uid}` }),
      ])
    },
  },
  volumeUsages: {
    measure: async () =>
      new Map([["volume", [{ volume: PODS[0]!.spec.volumes![0]!, measured: { usedBytes: 9000, inodesUsed: 400 } }]]]),
  },
} as never

test("the usage of the disk that decides who is evicted is that of volumes, logs and writable layers together", async () => {
  const usages = await podUsages(parts, PODS, "ephemeral-storage")
  expect(usages.map((one) => [one.pod.metadata.name, one.used, one.requested])).toEqual([
    ["steady", 60, 100],
    ["volume", 9050, 0],
    ["log", 5050, 0],
    ["layer", 3000, 0],
  ])
  expect(evictionOrder(usages).map((one) => one.pod.metadata.name)).toEqual(["volume", "log", "layer", "steady"])
  // and what is said of a container is without volumes
  expect(usages[1]!.containers).toEqual([{ name: "volume", used: 50, requested: 0 }])
})

test("a usage is as old as the runtime's measurement of the writable layer", async () => {
  const usages = await podUsages(parts, PODS, "ephemeral-storage")
  expect(usages.map(({ measuredAt }) => measuredAt)).toEqual([9, 9, 9, 7])
})

test("where inodes are short, the pod with the most files is evicted first", async () => {
  const usages = await podUsages(parts, PODS, "inodes")
  expect(usages.map(({ used }) => used)).toEqual([1, 401, 1, 2])
})

test("where memory is short, what counts is the memory of containers", async () => {
  const usages = await podUsages(parts, PODS, "memory")
  expect(usages.map(({ used }) => used)).toEqual([6, 6, 3, 5])
})
