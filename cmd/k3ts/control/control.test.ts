import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const MAIN = join(import.meta.dirname, "../main.ts")
const PAGE = readFileSync(join(import.meta.dirname, "../../../docs/testing.md"), "utf8")
const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}`
const web = { apiVersion: "apps/v1", kind: "Deployment", name: "web" }

let folder: string
let child: ChildProcess
/** What the command prints without a command of its own. */
const printed: Record<string, string> = {}
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-control-"))
  child = spawn(process.execPath, [MAIN, "test-cluster", "--control", "--nodes", "2"], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  for await (const line of createInterface({ input: child.stdout! })) {
    const [name = "", value = ""] = line.split("=", 2)
    printed[name] = value
    if (name === "K3TS_CONTROL_TOKEN") break
  }
})
afterAll(async () => {
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGTERM")
  await ended
  rmSync(folder, { recursive: true, force: true })
})

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

async function ask(method: string, path: string, body?: unknown, url = printed["K3TS_CONTROL_URL"]!): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${printed["K3TS_CONTROL_TOKEN"]}` },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Answer["body"] }
}
const done = async (...args: Parameters<typeof ask>): Promise<Answer["body"]> => {
  const { status, body } = await ask(...args)
  expect([status, body["error"]]).toEqual([200, undefined])
  return body
}

describe("the control channel of a test cluster", () => {
  test("applies manifests, waits and moves time, which stands still otherwise", async () => {
    await done("POST", "/apply", { manifests: WEB })
    await done("POST", "/wait", { ...web, for: "condition=Available", within: "5m" })
    const { items } = await done("POST", "/eventually", { apiVersion: "v1", kind: "Pod", labels: "app=web", count: 2 })
    expect(items).toHaveLength(2)
    const { time } = await done("POST", "/settle")
    expect(await done("POST", "/advance", { by: "3d" })).toEqual({
      time: new Date(Date.parse(time as string) + 3 * 86_400_000).toISOString(),
    })
    expect(await done("POST", "/advance", { to: "2027-01-01T00:00:00Z" })).toEqual({ time: "2027-01-01T00:00:00.000Z" })
  })

  test("begins faults and ends them", async () => {
    const { id } = await done("POST", "/faults", { fault: "nodeLost", node: "node-0" })
    expect(await done("GET", "")).toMatchObject({ nodes: ["node-0", "node-1"], faults: ["node node-0 is lost"] })
    await done("POST", "/wait", {
      ...{ apiVersion: "v1", kind: "Node", name: "node-0", within: "2m" },
      for: "jsonpath={.status.conditions[3].status}=Unknown",
    })
    await done("DELETE", `/faults/${String(id)}`)
    expect(await done("GET", "")).toMatchObject({ faults: [] })
    await done("POST", "/clock-jump", { by: "1h" })
    await done("POST", "/forget-history")
    await done("POST", "/drop-watches", { resource: "pods" })
  })

  test("forks a cluster, whose later changes the first one does not see", async () => {
    // given a fork
    const { url, kubeconfig } = (await done("POST", "/fork")) as { readonly url: string; readonly kubeconfig: string }
    expect(readFileSync(kubeconfig, "utf8")).toContain("server: https://127.0.0.1:")
    // when it is scaled and moved
    await done("POST", "/apply", { manifests: WEB.replace("replicas: 2", "replicas: 5") }, url)
    await done("POST", "/eventually", { apiVersion: "v1", kind: "Pod", labels: "app=web", count: 5, within: "5m" }, url)
    // then the first cluster has what it had
    const pods = { apiVersion: "v1", kind: "Pod", labels: "app=web" }
    await done("POST", "/eventually", { ...pods, count: 2 })
    // and a fork of an earlier snapshot has it too
    const { snapshot } = await done("POST", "/snapshot")
    expect(statSync(snapshot as string).mode & 0o777).toBe(0o600)
    await done("POST", "/apply", { manifests: WEB.replace("replicas: 2", "replicas: 1") })
    await done("POST", "/eventually", { ...pods, count: 1, within: "5m" })
    const restored = (await done("POST", "/fork", { snapshot })) as { readonly url: string }
    await done("POST", "/eventually", { ...pods, count: 2, within: "5m" }, restored.url)
    // and a fork that was ended is gone
    await done("DELETE", "", undefined, url)
    expect((await ask("GET", "", undefined, url)).status).toBe(404)
    await done("POST", "/apply", { manifests: WEB })
  })

  test("takes the manifests of a large operator, and no body without end", async () => {
    const large = `# ${"x".repeat(2 * 2 ** 20)}\n`
    expect(await done("POST", "/apply", { manifests: large + WEB })).toMatchObject({ items: [{ kind: "Deployment" }] })
    const { status, body } = await ask("POST", "/apply", "x".repeat(33 * 2 ** 20))
    expect([status, body["error"]]).toEqual([413, "the body is larger than 33554432 bytes"])
  })

  test("gives nothing to whoever does not have the token", async () => {
    for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: printed["K3TS_CONTROL_TOKEN"]! }]) {
      const response = await fetch(`${printed["K3TS_CONTROL_URL"]}/advance`, { method: "POST", headers, body: "{}" })
      expect(response.status).toBe(401)
    }
    expect(statSync(printed["KUBECONFIG"]!).mode & 0o777).toBe(0o600)
  })

  test.each<[method: string, path: string, body: unknown, status: number, error: RegExp]>([
    ["POST", "/advance", { by: "3d", too: 1 }, 400, /Unrecognized key/],
    ["POST", "/advance", { by: "soon" }, 400, /soon/],
    ["POST", "/advance", "{", 400, /the body is no JSON/],
    ["POST", "/wait", { kind: "Pod" }, 400, /apiVersion/],
    ["POST", "/wait", { ...web, name: "none", for: "condition=Available" }, 404, /deployments.apps "none" not found/],
    ["POST", "/wait", { ...web, for: "condition=Never", within: "10s" }, 504, /Never/],
    ["POST", "/faults", { fault: "nodeLots", node: "node-0" }, 400, /fault/],
    ["POST", "/faults", { fault: "nodeLost", node: "node-9" }, 400, /There is no node "node-9"/],
    ["POST", "/images", { image: "a:1", behaviour: { runMs: 1 } }, 400, /runsMs/],
    ["DELETE", "/faults/99", undefined, 404, /there is no fault "99"/],
    ["GET", "/advance", undefined, 405, /is for POST/],
    ["POST", "/advence", {}, 404, /there are .*\/advance/],
  ])("answers %s %s of %j with %d and says why", async (method, path, body, status, error) => {
    const answer = await ask(method, path, body)
    expect([answer.status, answer.body["error"]]).toEqual([status, expect.stringMatching(error)])
  })
})

/** The example of the page in a language. */
const exampleIn = (language: string): string => {
  const page = PAGE.slice(PAGE.indexOf("## Control of a cluster"))
  return new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, "s").exec(page)![1]!
}
const has = (program: string): boolean => Bun.which(program) !== null

describe("the example of the page", () => {
  test.skipIf(!has("python3"))("in Python runs", () => run("python", "client.py", ["python3"]))
  test.skipIf(!has("go"))("in Go runs", () => run("go", "main.go", ["go", "run"]), 60_000)
  test.skipIf(!has("java"))("in Java runs", () => run("java", "Control.java", ["java"]), 60_000)

  function run(language: string, file: string, command: readonly string[]): void {
    writeFileSync(join(folder, file), exampleIn(language))
    writeFileSync(join(folder, "web.yaml"), WEB)
    const { status, stderr } = spawnSync(command[0]!, [...command.slice(1), file], {
      cwd: folder,
      env: { ...process.env, ...printed },
      encoding: "utf8",
    })
    expect([status, status === 0 ? "" : stderr]).toEqual([0, ""])
  }
})

test("a command gets the variables of the channel, and nothing is left behind", () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      MAIN,
      "test-cluster",
      "--control",
      "--",
      "sh",
      "-c",
      'echo $KUBECONFIG; test -n "$K3TS_CONTROL_URL$K3TS_CONTROL_TOKEN"',
    ],
    { encoding: "utf8" },
  )
  expect(status).toBe(0)
  expect(existsSync(stdout.trim())).toBe(false)
})
