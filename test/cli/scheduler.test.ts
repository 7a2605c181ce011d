/** The scheduler of a real server: two profiles, a plugin in a process of its own, and an extender over HTTP. */
import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { startServer } from "./k3ts.ts"

const dir = mkdtempSync(join(tmpdir(), "k3ts-scheduler-"))
afterAll(() => rmSync(dir, { recursive: true }))

test("a server schedules by its configuration, asks its plugin and its extender, and survives both", async () => {
  // given an extender that refuses pods named refused, and a plugin that loops for pods named loop
  const extender = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      const { Pod: pod, NodeNames: names } = JSON.parse(Buffer.concat(parts).toString()) as {
        readonly Pod: Pod
        readonly NodeNames: readonly string[]
      }
      const refused = pod.metadata.name === "refused"
      const reasons = Object.fromEntries(names.map((name) => [name, "node(s) were taken"]))
      response.end(JSON.stringify(refused ? { FailedNodes: reasons } : { NodeNames: names }))
    })
  })
  await new Promise<void>((resolve) => extender.listen(0, "127.0.0.1", resolve))
  const urlPrefix = `http://127.0.0.1:${(extender.address() as AddressInfo).port}/scheduler`
  const plugin = join(dir, "plugin.ts")
  writeFileSync(
    plugin,
    `import { definePlugin } from "k3ts/scheduler"
     export default definePlugin({ name: "Loops", filter({ metadata }) { if (metadata.name === "loop") for (;;) {} } })`,
  )
  const config = join(dir, "scheduler.yaml")
  writeFileSync(
    config,
    JSON.stringify({
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      profiles: [
        { schedulerName: "default-scheduler" },
        { schedulerName: "mine", plugins: { multiPoint: { enabled: [{ name: "Loops" }] } } },
      ],
      extenders: [{ urlPrefix, filterVerb: "filter", nodeCacheCapable: true }],
    }),
  )
  await using server = await startServer({
    flags: ["--scheduler-plugin", plugin, "--kube-scheduler-arg", `config=${config}`],
    node: true,
  })
  // when
  const PODS = "/api/v1/namespaces/default/pods"
  const create = (name: string, schedulerName: string) =>
    server.send(
      "POST",
      PODS,
      JSON.stringify({ metadata: { name }, spec: { schedulerName, containers: [{ name: "c", image: "web" }] } }),
      { "content-type": "application/json" },
    )
  await server.eventually("/api/v1/namespaces/default/serviceaccounts/default", (_body, status) => status === 200)
  for (const name of ["loop", "refused", "fine"]) expect((await create(name, "mine")).status).toBe(201)
  await create("other", "default-scheduler")
  // then
  const until = async (name: string, holds: (pod: Pod) => boolean): Promise<Pod> =>
    JSON.parse(await server.eventually(`${PODS}/${name}`, (body) => holds(JSON.parse(body) as Pod))) as Pod
  const messageOf = ({ status }: Pod) => status.conditions?.find(({ type }) => type === "PodScheduled")?.message ?? ""
  await Promise.all(["fine", "other"].map((name) => until(name, ({ spec }) => spec.nodeName !== undefined)))
  expect(messageOf(await until("refused", (pod) => messageOf(pod) !== ""))).toContain("1 node(s) were taken")
  expect(messageOf(await until("loop", (pod) => messageOf(pod) !== ""))).toBe(
    "plugin Loops: filter has not answered within 1s",
  )
  extender.close()
}, 60_000)
