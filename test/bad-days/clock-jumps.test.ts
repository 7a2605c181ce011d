import { expect, test } from "bun:test"
import { join } from "node:path"
import { startServer } from "../harness/server.ts"
import { JUMPS } from "./clock-jumps.fixtures.ts"

const PROGRAM = [
  process.execPath,
  "--preload",
  join(import.meta.dirname, "clock-jumps.fixtures.ts"),
  join(import.meta.dirname, "../../cmd/k3ts/main.ts"),
]
const DEFAULT = "/api/v1/namespaces/default"

interface Condition {
  readonly type: string
  readonly status: string
}

test("a running server whose clock is set by hours and days, forward and back, loses no node, pod, token or watch", async () => {
  await using server = await startServer({ program: PROGRAM, agent: "simulated" })
  const json = async <T>(path: string) => JSON.parse((await server.get(path)).body.toString()) as T
  const phase = async (name: string) =>
    (await json<{ status?: { phase?: string } }>(`${DEFAULT}/pods/${name}`)).status?.phase
  const running = async (name: string) => {
    while ((await phase(name)) !== "Running") await Bun.sleep(20)
  }
  const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: "c", image: "web" }] } })
  const tokenOf = async () => {
    const answer = await server.send("POST", `${DEFAULT}/serviceaccounts/default/token`, {
      spec: { expirationSeconds: 3600 },
    })
    return (JSON.parse(answer.body.toString()) as { status: { token: string } }).status.token
  }
  const asToken = async (token: string) =>
    (await server.raw("GET", "/api", { authorization: `Bearer ${token}` })).status
  // given a pod, and a CronJob that is due each minute
  await server.send("POST", `${DEFAULT}/pods`, pod("before"))
  await running("before")
  const cronJob = await server.send("POST", "/apis/batch/v1/namespaces/default/cronjobs", {
    metadata: { name: "tick" },
    spec: {
      schedule: "* * * * *",
      concurrencyPolicy: "Forbid",
      startingDeadlineSeconds: 200,
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "web" }] } } },
      },
    },
  })
  expect(cronJob.status).toBe(201)

  for (const [i] of JUMPS.entries()) {
    // when the clock is set
    process.kill(server.pid, "SIGUSR2")
    // then writes are taken, tokens made now are good, and pods start
    const name = `after-${i}`
    expect((await server.send("POST", `${DEFAULT}/pods`, pod(name))).status).toBe(201)
    expect(await asToken(await tokenOf())).toBe(200)
    await running(name)
    // and what runs, runs
    expect(await phase("before")).toBe("Running")
    expect((await server.get("/readyz")).status).toBe(200)
  }
  // and nobody has doubted the node
  const nodes = await json<{ items: { spec: { taints?: object[] }; status: { conditions: Condition[] } }[] }>(
    "/api/v1/nodes",
  )
  for (const { spec, status } of nodes.items) {
    expect(status.conditions.find(({ type }) => type === "Ready")?.status).toBe("True")
    expect(spec.taints ?? []).toEqual([])
  }
  const { items } = await json<{ items: { metadata: { name: string } }[] }>(`${DEFAULT}/pods`)
  expect(items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(["before", "after-0", "after-5"]))
  // and the CronJob has not made up for thousands of minutes
  const jobs = await json<{ items: object[] }>("/apis/batch/v1/namespaces/default/jobs")
  expect(jobs.items.length).toBeLessThanOrEqual(JUMPS.length)
}, 60_000)
