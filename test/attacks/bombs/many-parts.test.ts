/**
 * Objects of thousands of parts that other objects are compared with, or of which all others are made anew. Each of
 * these once stopped the server for half a second to seven seconds, some of them at each change of anything.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { ClusterProcess, TEST_LIMIT_MS } from "./cluster-process.ts"
import { prepare } from "./measure.ts"

/** Processor time of a turn, in milliseconds; the turns take 10 to 70. */
const MOST_MS = 400

const OF_DEFAULT = "/namespaces/default"
const PODS = `/api/v1${OF_DEFAULT}/pods`
const CRON_JOBS = `/apis/batch/v1${OF_DEFAULT}/cronjobs`
const INGRESSES = `/apis/networking.k8s.io/v1${OF_DEFAULT}/ingresses`
const MERGE = { "content-type": "application/merge-patch+json" }

const container = { containers: [{ name: "c", image: "registry.example/c:1" }] }
const many = <T>(count: number, make: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => make(i))

const cronJob = (name: string, schedule: string) => ({
  metadata: { name },
  spec: { schedule, jobTemplate: { spec: { template: { spec: { ...container, restartPolicy: "Never" } } } } },
})
const term = (key: string, operator: string) => ({
  topologyKey: "kubernetes.io/hostname",
  labelSelector: { matchExpressions: [{ key, operator }] },
})
const AFFINITIES = {
  "that it must not be near": {
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: many(4000, (i) => term(`a${i}`, "Exists")) },
  },
  "that it would rather not be near": {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: many(4000, (i) => ({
        weight: 1,
        podAffinityTerm: { ...term(`a${i}`, "DoesNotExist"), namespaceSelector: {} },
      })),
    },
  },
  "of labels of nodes": {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: many(15_000, (i) => ({
        weight: 1,
        preference: { matchExpressions: [{ key: `a${i}`, operator: "NotIn", values: ["x"] }] },
      })),
    },
  },
}
const ingress = (name: string, rules: number) => ({
  metadata: { name },
  spec: {
    ingressClassName: "k3ts",
    rules: many(rules, (i) => ({
      host: `h${i}.${name}.example.com`,
      http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }] },
    })),
  },
})

describe("a whole cluster has only short turns", () => {
  let cluster: ClusterProcess
  beforeAll(async () => {
    cluster = new ClusterProcess()
    await cluster.start()
    await prepare(cluster)
    // What is measured is not the first run of cold code.
    await cluster.send("POST", CRON_JOBS, cronJob("warm", "0 0 * * *"))
    await cluster.send("POST", PODS, { metadata: { name: "warm" }, spec: container })
    await cluster.send("POST", INGRESSES, ingress("warm", 10))
  }, TEST_LIMIT_MS)
  afterAll(() => cluster[Symbol.asyncDispose]())

  /** Expects short turns while the requests are answered, each with success, and until the cluster is quiet. */
  async function expectShortTurns(requests: readonly Parameters<ClusterProcess["send"]>[]): Promise<void> {
    await cluster.begin()
    for (const request of requests) expect((await cluster.send(...request)).status).toBeLessThan(300)
    expect((await cluster.end()).longestMs).toBeLessThan(MOST_MS)
  }

  test.each([
    ["thousands of minutes", `0${",1".repeat(430_000)} 0 * * *`],
    ["blanks", `0${" ".repeat(860_000)}0 * * *`],
    ["minutes of a day that never comes", `0${",0".repeat(430_000)} 0 31 2 *`],
  ])(
    "while a CronJob has a schedule of 860 KB, of %s",
    async (title, schedule) => {
      await expectShortTurns([["POST", CRON_JOBS, cronJob(title.replaceAll(" ", "-"), schedule)]])
    },
    TEST_LIMIT_MS,
  )

  test.each(Object.entries(AFFINITIES))(
    "while a pod has thousands of terms %s, and others are placed beside it",
    async (title, affinity) => {
      const pod = (name: string, spec: object) => ({ metadata: { name, labels: { a1: "x" } }, spec })
      const name = title.replaceAll(" ", "-")
      await expectShortTurns([
        ["POST", PODS, pod(name, { ...container, affinity })],
        ...many(10, (i): Parameters<ClusterProcess["send"]> => ["POST", PODS, pod(`${name}-${i}`, container)]),
      ])
    },
    TEST_LIMIT_MS,
  )

  test(
    "while there are Ingresses of 50,000 rules, and one of another is changed",
    async () => {
      await expectShortTurns([
        ...many(6, (i): Parameters<ClusterProcess["send"]> => ["POST", INGRESSES, ingress(`i${i}`, 8000)]),
        ["POST", INGRESSES, ingress("small", 1)],
        ["PATCH", `${INGRESSES}/small`, { spec: { rules: [{ host: "x.example.com" }] } }, MERGE],
        ["DELETE", `${INGRESSES}/i3`],
      ])
    },
    TEST_LIMIT_MS,
  )
})
