import { describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findKubectls } from "../../../test/kubectls.ts"
import { Pod, startCluster, type ImageBehaviour } from "../../cluster/testing/testing.ts"
import { web } from "../../cluster/testing/cluster.fixtures.ts"

const kubectl = findKubectls().at(-1)?.[1]
if (kubectl === undefined)
  console.warn("SKIPPED: no kubectl on the PATH, so port-forward and proxy are not tried with the real one")

const echo: ImageBehaviour = {
  http: async (request, { pod }) =>
    new Response(`${pod.name}: ${request.method} ${new URL(request.url).pathname} ${await request.text()}`),
}

describe.skipIf(kubectl === undefined)("kubectl, against a simulated pod", () => {
  test("forwards a port, and requests a pod through the API server's proxy", async () => {
    // given a pod whose image answers by a function
    await using cluster = await startCluster({ nodes: 1, images: { echo } })
    await cluster.apply(web(1, "echo"))
    const [pod] = await cluster.list(Pod)
    const { name = "" } = pod!.metadata
    const folder = mkdtempSync(join(tmpdir(), "k3ts-forward-"))
    writeFileSync(join(folder, "config"), (await cluster.listen()).kubeconfig, { mode: 0o600 })
    const start = (...args: string[]) =>
      spawn(kubectl!, ["--kubeconfig", join(folder, "config"), "--cache-dir", folder, ...args], {
        stdio: ["ignore", "pipe", "inherit"],
      })
    /** Resolves with the output once it matches. */
    const said = (child: ReturnType<typeof start>, pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve, reject) => {
        let text = ""
        child.stdout!.on("data", (part: Buffer) => {
          text += part.toString("utf8")
          const found = pattern.exec(text)
          if (found !== null) resolve(found)
        })
        child.once("exit", () => reject(new Error(`kubectl ended, having said: ${text}`)))
      })
    // when a port is forwarded
    const forwarding = start("port-forward", name, ":8080")
    const [, port = ""] = await said(forwarding, /127\.0\.0\.1:(\d+)/)
    // then requests to it are answered by the function
    expect(await (await fetch(`http://127.0.0.1:${port}/a`)).text()).toBe(`${name}: GET /a `)
    expect(await (await fetch(`http://127.0.0.1:${port}/b`, { method: "POST", body: "hello" })).text()).toBe(
      `${name}: POST /b hello`,
    )
    forwarding.kill()
    // and so are those that the API server passes on
    const [answer] = await said(
      start("get", "--raw", `/api/v1/namespaces/default/pods/${name}:8080/proxy/c`),
      /^.*GET \/c $/,
    )
    expect(answer).toBe(`${name}: GET /c `)
    rmSync(folder, { recursive: true, force: true })
  })
})
