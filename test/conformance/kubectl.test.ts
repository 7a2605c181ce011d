/** The tests of test/e2e/kubectl that need no real container, with the real kubectl. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Kubectl } from "../harness/kubectl.ts"
import { findKubectls } from "../kubectls.ts"
import { startConformanceCluster, type ConformanceCluster } from "./cluster.ts"

const newest = findKubectls().at(-1)
if (newest === undefined)
  console.warn("SKIPPED: no kubectl on the PATH, so what the conformance tests do with it is not tried")

describe.skipIf(newest === undefined)("kubectl", () => {
  let cluster: ConformanceCluster
  let kubectl: Kubectl
  const home = mkdtempSync(join(tmpdir(), "conformance-"))
  const kubeconfig = join(home, "config")
  const manifest = (name: string, object: object): string => {
    const path = join(home, `${name}.json`)
    writeFileSync(path, JSON.stringify(object))
    return path
  }
  beforeAll(async () => {
    cluster = await startConformanceCluster({ controllers: true, nodes: 2 })
    writeFileSync(kubeconfig, cluster.kubeconfig, { mode: 0o600 })
    kubectl = new Kubectl({ path: newest![1], kubeconfig, home })
    await cluster.until("/api/v1/namespaces/default/serviceaccounts/default", (account) => account !== undefined)
  })
  afterAll(async () => {
    await cluster.stop()
    rmSync(home, { recursive: true })
  })
  const run = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await kubectl.run(args)
    expect([args.join(" "), code, code === 0 ? "" : err]).toEqual([args.join(" "), 0, ""])
    return out
  }

  test("lists API versions, prints versions, and shows the address of the control plane", async () => {
    expect((await run("api-versions")).split("\n")).toContain("v1")
    const version = await run("version")
    for (const word of ["Client Version", "Server Version"]) expect(version).toContain(word)
    expect((await run("cluster-info")).replaceAll(/\u001b\[[\d;]*m/g, "")).toMatch(
      /Kubernetes (control plane|master) is running at https:/,
    )
  }, 30_000)

  test("finds a difference with diff, and changes nothing in a server-side dry run", async () => {
    const deployment = (image: string) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "httpd-deployment" },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: "httpd" } },
        template: { metadata: { labels: { app: "httpd" } }, spec: { containers: [{ name: "httpd", image }] } },
      },
    })
    await run("apply", "-f", manifest("deployment", deployment("registry.example/httpd:2.4.38")))
    const diff = await kubectl.run(["diff", "-f", manifest("deployment-2", deployment("registry.example/busybox:1"))])
    expect([diff.code, /^-.*httpd:2\.4\.38$/m.test(diff.out), /^\+.*busybox:1$/m.test(diff.out)]).toEqual([
      1,
      true,
      true,
    ])
    const serverSide = await kubectl.run([
      "diff",
      "--server-side",
      "--force-conflicts",
      "-f",
      manifest("deployment-2", deployment("registry.example/busybox:1")),
    ])
    expect([serverSide.code, /^\+.*busybox:1$/m.test(serverSide.out)]).toEqual([1, true])
    expect((await cluster.get("/apis/apps/v1/namespaces/default/deployments/httpd-deployment")).spec).toMatchObject({
      template: { spec: { containers: [{ image: "registry.example/httpd:2.4.38" }] } },
    })
    await run("run", "e2e-test-httpd-pod", "--image=registry.example/httpd:2.4.38", "--labels=run=e2e-test-httpd-pod")
    await run(
      "patch",
      "pod",
      "e2e-test-httpd-pod",
      "-p",
      '{"spec":{"containers":[{"name":"e2e-test-httpd-pod","image":"registry.example/busybox:1"}]}}',
      "--dry-run=server",
    )
    expect(await run("get", "pod", "e2e-test-httpd-pod", "-o", "jsonpath={.spec.containers[0].image}")).toBe(
      "registry.example/httpd:2.4.38",
    )
  }, 30_000)

  test("runs, labels, shows and replaces a pod", async () => {
    await run("run", "labelled", "--restart=Never", "--image=registry.example/pause:1")
    expect(await run("get", "pod", "labelled", "-o", "jsonpath={.spec.restartPolicy}")).toBe("Never")
    await cluster.until("/api/v1/namespaces/default/pods/labelled", (pod) => pod?.status.phase === "Running")
    await run("label", "pods", "labelled", "testing-label=testing-label-value")
    expect(await run("get", "pod", "labelled", "-L", "testing-label")).toContain("testing-label-value")
    await run("label", "pods", "labelled", "testing-label-")
    expect(await run("get", "pod", "labelled", "-L", "testing-label")).not.toContain("testing-label-value")
    const pod = JSON.parse(
      (await run("get", "pod", "labelled", "-o", "json")).replaceAll(
        "registry.example/pause:1",
        "registry.example/pause:2",
      ),
    ) as object
    await run("replace", "-f", manifest("pod", pod))
    expect(await run("get", "pod", "labelled", "-o", "jsonpath={.spec.containers[0].image}")).toBe(
      "registry.example/pause:2",
    )
    expect(await run("describe", "pod", "labelled")).toMatch(/Status:\s+Running/)
    await run("delete", "pod", "labelled", "--wait=true", "--timeout=10s")
  }, 30_000)

  test("proxies on a port of its own choice and on a socket", async () => {
    const get = (options: { port?: number; socketPath?: string }) =>
      new Promise<string>((resolve, reject) => {
        request({ host: "127.0.0.1", path: "/api/", ...options }, (res) => {
          let text = ""
          res.on("data", (part: Buffer) => (text += part.toString()))
          res.on("end", () => resolve(text))
        })
          .on("error", reject)
          .end()
      })
    const socket = join(home, "proxy.sock")
    for (const flags of [["--port=0", "--disable-filter"], [`--unix-socket=${socket}`]]) {
      const child = spawn(newest![1], ["proxy", ...flags], {
        env: { ...process.env, KUBECONFIG: kubeconfig, HOME: home },
        stdio: ["ignore", "pipe", "ignore"],
      })
      try {
        const [line] = (await once(child.stdout, "data")) as [Buffer]
        const port = /127\.0\.0\.1:(\d+)/.exec(line.toString())?.[1]
        expect(
          JSON.parse(await get(port === undefined ? { socketPath: socket } : { port: Number(port) })),
        ).toMatchObject({ kind: "APIVersions", versions: ["v1"] })
      } finally {
        child.kill()
        await once(child, "exit")
      }
    }
  }, 30_000)
})
