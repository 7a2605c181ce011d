import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createHttpsTransport } from "../../pkg/client/https.ts"
import { loadKubeconfig } from "../../pkg/client/kubeconfig.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { ConfigMap } from "../../pkg/api/core/v1/configmap.ts"
import { ServiceAccount } from "../../pkg/api/core/v1/serviceaccount.ts"
import { k3ts, startServer } from "./k3ts.ts"

const CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

describe("commands beside a server", () => {
  test("kubeconfig and token authenticate the user that they name", async () => {
    await using server = await startServer()
    const where = ["--data-dir", server.dataDir]
    const clientFor = (kubeconfig: string) => {
      const path = join(server.dataDir, "given.yaml")
      writeFileSync(path, kubeconfig)
      return newClient(createHttpsTransport({ config: loadKubeconfig(path), userAgent: "test" }))
    }

    // the administrator's
    const admin = clientFor((await k3ts(["kubeconfig", ...where])).stdout)
    expect((await admin.list(ConfigMap, { namespace: "default" })).items.length).toBeGreaterThanOrEqual(0)
    expect((await k3ts(["token", ...where])).stdout).toBe(`${server.token}\n`)

    // another user's, who may do nothing yet
    const alice = clientFor((await k3ts(["kubeconfig", ...where, "--user", "alice", "--group", "devs"])).stdout)
    await expect(alice.list(ConfigMap, { namespace: "default" })).rejects.toThrow(
      'User "alice" cannot list resource "configmaps"',
    )

    // a service account's token
    await admin.create(ServiceAccount, { metadata: { name: "robot", namespace: "default" } })
    const { stdout: token, code } = await k3ts(["token", "serviceaccount", "robot", ...where, "--ttl", "15m"])
    expect(code).toBe(0)
    expect((await server.get(CONFIGMAPS, token.trim())).body).toContain(
      'User \\"system:serviceaccount:default:robot\\" cannot list',
    )
    expect(await k3ts(["token", "serviceaccount", "nobody", ...where])).toMatchObject({
      code: 1,
      stderr: 'k3ts: serviceaccounts "nobody" not found\n',
    })
  })

  test("kubeconfig --merge adds the cluster to the user's kubeconfig", async () => {
    // given a kubeconfig with another cluster
    await using server = await startServer()
    const path = join(server.dataDir, "users.yaml")
    writeFileSync(path, "current-context: work\ncontexts: [{name: work, context: {cluster: work, user: me}}]\n")

    // when
    const { code, stdout } = await k3ts(["kubeconfig", "--merge", "--context", "edge", "--data-dir", server.dataDir], {
      KUBECONFIG: path,
    })

    // then both are in it, and the new one works
    expect(stdout).toBe(`Added the context edge to ${path}; use it with: kubectl config use-context edge\n`)
    expect(code).toBe(0)
    const text = readFileSync(path, "utf8")
    expect(text).toContain("current-context: work")
    writeFileSync(path, text.replace("current-context: work", "current-context: edge"))
    const client = newClient(createHttpsTransport({ config: loadKubeconfig(path), userAgent: "test" }))
    expect((await client.list(ConfigMap, { namespace: "default" })).items.length).toBeGreaterThanOrEqual(0)
  })

  test("find a server that listens on one address only", async () => {
    // given one that loopback's usual address does not reach
    await using server = await startServer({ host: "127.0.0.5" })
    const where = ["--data-dir", server.dataDir]

    // then both commands do, by a name that its certificate has
    const path = join(server.dataDir, "given.yaml")
    writeFileSync(path, (await k3ts(["kubeconfig", ...where])).stdout)
    expect(readFileSync(path, "utf8")).toContain(`server: https://127.0.0.5:${server.port}\n`)
    const admin = newClient(createHttpsTransport({ config: loadKubeconfig(path), userAgent: "test" }))
    await admin.create(ServiceAccount, { metadata: { name: "robot", namespace: "default" } })
    expect(await k3ts(["token", "serviceaccount", "robot", ...where])).toMatchObject({ code: 0, stderr: "" })

    // and where it does not run, the flags tell
    expect((await k3ts(["kubeconfig", ...where, "--bind-address", "::1"])).stdout).toContain(
      "server: https://127.0.0.5:",
    )
    server.signal("SIGTERM")
    await server.ended
    expect(
      (await k3ts(["kubeconfig", ...where, "--bind-address", "::1", "--https-listen-port", "7443"])).stdout,
    ).toContain("server: https://[::1]:7443\n")
  })

  test("report that no cluster runs", async () => {
    expect(await k3ts(["token", "--data-dir", "/nonexistent"])).toMatchObject({
      code: 1,
      stderr: "k3ts: There is no folder /nonexistent: start k3ts server, or name its --data-dir\n",
    })
    expect(
      await k3ts(["images", "list", "--data-dir", "/nonexistent", "--container-runtime-endpoint", "/nonexistent.sock"]),
    ).toMatchObject({ code: 1, stderr: "k3ts: There is no container runtime at /nonexistent.sock\n" })
  })
})

describe("commands without a server", () => {
  test.each<{ command: string; wants: string }>([
    {
      command: "crictl",
      wants:
        "crictl is a command of k3s: install crictl and run: crictl --runtime-endpoint " +
        "unix:///run/k3ts/containerd/containerd.sock ps",
    },
  ])("$command prints the command that does the same", async ({ command, wants }) => {
    expect(await k3ts([command, "get"])).toMatchObject({ code: 2, stdout: "", stderr: `k3ts: ${wants}\n` })
  })

  test("version prints commit, date, Kubernetes and Bun, as text, JSON and YAML", async () => {
    expect((await k3ts(["version"])).stdout).toMatch(
      /^k3ts \S+ \([0-9a-f]{12}(, changed)?, \d{4}-\d\d-\d\dT[\d:]{8}Z\)\nKubernetes v1\.36\.0\+k3ts\nbun \S+, linux\/\w+\n$/,
    )
    expect((await k3ts(["version", "-o", "yaml"])).stdout).toMatch(/^gitCommit: [0-9a-f]{40}$/m)
    expect(JSON.parse((await k3ts(["version", "--output", "json"])).stdout)).toMatchObject({
      kubernetes: { gitVersion: "v1.36.0+k3ts" },
      version: JSON.parse(readFileSync("package.json", "utf8")).version,
    })
  })

  test("each command has --help", async () => {
    const overview = await k3ts(["--help"])
    expect(overview.code).toBe(0)
    for (const [, name] of overview.stdout.matchAll(/^ {2}([a-z-]+) {2}/gm)) {
      const { code, stdout } = await k3ts([name!, "--help"])
      expect([name, code, stdout.includes(name === "kubectl" ? "  kubectl [flags]" : `Usage: k3ts ${name}`)]).toEqual([
        name!,
        0,
        true,
      ])
    }
  })

  test("check-config lists each requirement and exits with 1 if one is not met", async () => {
    const { code, stdout } = await k3ts(
      ["check-config", "--output", "json", "--https-listen-port", String(await freePort())],
      { PATH: "/nonexistent" },
    )
    const { ok, findings } = JSON.parse(stdout) as {
      ok: boolean
      findings: { name: string; status: string; detail: string; mend?: string }[]
    }
    expect([code, ok]).toEqual([1, false])
    expect(findings).toContainEqual({
      name: "runc",
      status: "missing",
      detail: "not on the PATH",
      mend: "apt-get install runc",
    })
    for (const { status, mend } of findings) expect(status === "found" || mend !== undefined).toBe(true)
  })

  test("check-config without a node checks fewer requirements", async () => {
    const { code } = await k3ts(
      [
        "check-config",
        "--disable-agent",
        "--data-dir",
        join(tmpdir(), "k3ts-none"),
        "--https-listen-port",
        String(await freePort()),
      ],
      { PATH: "/nonexistent" },
    )
    expect(code).toBe(0)
  })

  test.skipIf(process.getuid?.() !== 0)(
    "uninstall removes files and folders, but no device that a flag names",
    async () => {
      // given a data directory, and a config file that is none
      const folder = mkdtempSync(join(tmpdir(), "k3ts-uninstall-"))
      const [dataDir, kubeconfig] = [join(folder, "data"), join(folder, "k3ts.yaml")]
      mkdirSync(join(dataDir, "server"), { recursive: true })
      writeFileSync(kubeconfig, "")
      // when asked what would go
      const flags = ["--data-dir", dataDir, "--write-kubeconfig", kubeconfig, "--config", "/dev/null"]
      const { code, stdout } = await k3ts(["uninstall", "--dry-run", ...flags])
      rmSync(folder, { recursive: true })
      // then
      expect([code, stdout]).toEqual([0, `${dataDir}\n${kubeconfig}\n`])
    },
  )

  test.each(["bash", "zsh", "fish"])("completion prints a script for %s that the shell accepts", async (shell) => {
    const { code, stdout } = await k3ts(["completion", shell])
    expect([code, stdout.includes("k3ts __complete")]).toEqual([0, true])
    if (Bun.which(shell) === null) return console.warn(`SKIPPED: ${shell} is not here to try its completion`)
    const check = Bun.spawnSync([shell, "-n", "/dev/stdin"], { stdin: Buffer.from(stdout) })
    expect(check.stderr.toString()).toBe("")
  })
})
