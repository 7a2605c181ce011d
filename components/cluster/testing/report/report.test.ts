import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { defineController, ConfigMap, Pod, Secret, startCluster, type Cluster } from "../testing.ts"
import { aligned, folded, mostTelling } from "./layout.ts"
import type { Moment } from "./moment.ts"
import { printReports } from "./print-reports.ts"

const folder = mkdtempSync(join(tmpdir(), "k3ts-reports-"))
afterAll(() => rmSync(folder, { recursive: true }))

const deployment = (name: string, image: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image }] } },
  },
})

/** A cluster in which a container crashes, a node was lost, a request was refused and a controller fails. */
async function troubledCluster(): Promise<Cluster> {
  const images = { broken: { runsMs: 500, exitCode: 3, terminationMessage: "no database" } }
  const cluster = await startCluster({ nodes: 3, seed: 1, images, reports: folder })
  await cluster.run(
    defineController({
      name: "sealer",
      reconciles: ConfigMap,
      concerns: ({ metadata }) => metadata.name === "a",
      reconcile: async () => Promise.reject(new TypeError("no key")),
    }),
  )
  await cluster.apply([deployment("web", "web"), deployment("api", "broken")])
  await cluster.client.create(ConfigMap, { metadata: { name: "a" } })
  await cluster.client.create(Pod, { metadata: { name: "none" }, spec: { containers: [] } }).catch(() => undefined)
  await cluster.advance("30s")
  const lost = await cluster.faults.nodeLost("node-2")
  await cluster.advance("2m")
  await lost.end()
  return cluster
}

describe("the report of a cluster", () => {
  test("begins with what is not ready, and tells what happened in 60 lines", async () => {
    // given
    await using cluster = await troubledCluster()
    // when
    const text = String(cluster.report())
    // then
    expect(text.split("\n").length).toBeLessThanOrEqual(60)
    const [head, , notReady, pod, reason] = text.split("\n")
    expect(head).toBe("The cluster until 2026-01-01T00:02:30Z (seed 1 (K3TS_SEED=1 replays it))")
    expect(notReady).toBe("Not ready:")
    expect(pod).toMatch(/^ {2}Pod default\/api-\S+ is Running$/)
    expect(reason).toMatch(/^ {4}container main waits: CrashLoopBackOff: /)
    for (const line of [
      /^ {2}! 0:00\.\d{3} {2}admin +create pods default failed: Invalid: /m,
      /^ {2}! 0:00\.500 {2}node-\d +Pod default\/api-\S+: container main ends with exit code 3 \(Error\): no database$/m,
      /^ {2}! 0:30\.000 {2}fault +node node-2 is lost$/m,
      /^ {4}2:30\.000 {2}fault +over: node node-2 is lost$/m,
      /^ {2}! \S+ {2}test +controller sealer, default\/a has failed \d+ times: TypeError: no key/m,
      /^ {4}1:\S+ {2}node-controller +update Node node-2: not Ready$/m,
    ])
      expect(text).toMatch(line)
  })

  test("is whole in the file, with what the console leaves out", async () => {
    await using cluster = await troubledCluster()
    const { file, whole } = cluster.report()
    expect(file).toStartWith(join(folder, "report.test.ts-"))
    expect(readFileSync(file!, "utf8")).toBe(whole)
    expect(whole).toMatch(/apiserver +create ClusterRole cluster-admin$/m)
    expect(whole).not.toContain("renewTime")
  })

  test("is written when a wait takes too long, and the message names its file", async () => {
    await using cluster = await troubledCluster()
    const message = await cluster
      .eventually(Secret, {}, (secrets) => secrets.length > 5)
      .then(String, (err: Error) => err.message)
    const [, path = ""] = /\n {2}the report is in (.*)$/.exec(message) ?? []
    expect(readFileSync(path, "utf8")).toContain("CrashLoopBackOff")
  })

  test("that cannot be written leaves the message of the wait as it is", async () => {
    // given a file in the place of the folder
    const file = join(folder, "file")
    writeFileSync(file, "")
    await using cluster = await startCluster({ nodes: 0, reports: file })
    // when
    const message = await cluster.eventually(Secret, {}, () => false).then(String, (err: Error) => err.message)
    // then
    expect(message).toContain("Not within 1m0s")
    expect(message).toMatch(/\n {2}there is no report: .*EEXIST/)
  })

  test("is made also of a pod whose owners own each other", async () => {
    const admission = { disabled: ["ServiceAccount"] }
    await using cluster = await startCluster({ nodes: 0, components: { controllers: false }, admission })
    const ownedBy = ({ metadata: { name = "", uid = "" } }: ConfigMap) => [
      { apiVersion: "v1", kind: "ConfigMap", name, uid },
    ]
    // given
    const a = await cluster.client.create(ConfigMap, { metadata: { name: "a", namespace: "default" } })
    const b = await cluster.client.create(ConfigMap, {
      metadata: { name: "b", namespace: "default", ownerReferences: ownedBy(a) },
    })
    await cluster.client.update(ConfigMap, { ...a, metadata: { ...a.metadata, ownerReferences: ownedBy(b) } })
    await cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "owned", ownerReferences: ownedBy(a) },
      spec: { containers: [{ name: "main", image: "web" }] },
    })
    // then
    expect(String(cluster.report())).toContain("Not ready:\n  Pod default/owned is Pending")
  })

  test("says when all is well", async () => {
    await using cluster = await startCluster({ nodes: 1 })
    expect(String(cluster.report())).toContain("\nEvery pod, workload, claim and node is ready\n")
    expect(cluster.report().file).toBeUndefined()
  })

  test("is printed after the end of a cluster whose test has failed, where the runner tells of it", async () => {
    // given a runner
    const failed: (() => void)[] = []
    printReports((print) => failed.push(print))
    const cluster = await startCluster({ nodes: 1 })
    printReports(() => {})
    await cluster.apply(deployment("web", "web"))
    await cluster.stop()
    // when
    const written: string[] = []
    const write = process.stderr.write
    process.stderr.write = ((text: string) => written.push(text)) as never
    failed.forEach((print) => print())
    process.stderr.write = write
    // then
    expect(written.join("")).toContain("create Deployment default/web")
  })
})

const moment = (at: number, what: string, rest: Partial<Moment> = {}): Moment => ({
  time: at,
  isTrouble: false,
  who: "node-0",
  what,
  ...rest,
})

describe("the lines of a report", () => {
  test("are aligned, with the time since the start", () => {
    const day = 24 * 3_600_000
    const moments = [moment(0, "a"), moment(day + 3_723_004, "b\n  c", { who: "x", isTrouble: true })]
    expect(aligned(moments, 0)).toEqual(["         0:00.000  node-0  a", "! 1d 01:02:03.004  x       b c"])
  })

  test("tell many alike of one instant as one", () => {
    const alike = Array.from({ length: 5 }, (_, at) => moment(0, `create Role r${at}`, { alike: "create Role" }))
    expect(folded([...alike, moment(1, "z")]).map(({ what }) => what)).toEqual(["create Role: 5 times", "z"])
  })

  test("leave out what came again and again, before what came once", () => {
    const crashes = Array.from({ length: 9 }, (_, at) => moment(at, `run ${at} ends`, { isTrouble: true }))
    const shown = mostTelling([moment(0, "fault", { isOfTest: true }), ...crashes, moment(10, "z")], 4, new Set())
    expect(shown.map(({ what }) => what)).toEqual(["fault", "run 0 ends", "run 8 ends", "z"])
  })
})
