import { expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"

const main = join(import.meta.dirname, "../main.ts")
const k3ts = (...args: string[]) => spawnSync(process.execPath, [main, "test-cluster", ...args], { encoding: "utf8" })

test("test-cluster exits with the command's exit code and leaves nothing behind", () => {
  // when a command prints where its kubeconfig is, and fails
  const { status, stdout } = k3ts(
    "--nodes",
    "1",
    "--",
    "sh",
    "-c",
    "echo $KUBECONFIG; grep -c https://127.0.0.1: $KUBECONFIG; exit 7",
  )
  // then
  expect(status).toBe(7)
  const [path = "", servers] = stdout.split("\n")
  expect(servers).toBe("1")
  expect(existsSync(path)).toBe(false)
})

test("test-cluster puts kubectl on the PATH, for the cluster", () => {
  const { status, stdout, stderr } = k3ts("--", "sh", "-c", "kubectl get nodes -o name")
  expect([status, stdout, stderr]).toEqual([0, "node/node-0\n", ""])
})

test("test-cluster --api-only has no controllers and no nodes, and takes pods without a service account", () => {
  // when a command asks the API, as any client does
  const program = `
    const { loadKubeconfig } = await import("${join(import.meta.dirname, "../../../pkg/client/kubeconfig.ts")}")
    const { createHttpsTransport } = await import("${join(import.meta.dirname, "../../../pkg/client/https.ts")}")
    const { newClient } = await import("${join(import.meta.dirname, "../../../pkg/client/new-client.ts")}")
    const { Pod } = await import("${join(import.meta.dirname, "../../../pkg/api/core/v1/pod/pod.ts")}")
    const { Node } = await import("${join(import.meta.dirname, "../../../pkg/api/core/v1/node/node.ts")}")
    const client = newClient(createHttpsTransport({ config: loadKubeconfig(process.env.KUBECONFIG), userAgent: "test" }))
    await client.create(Pod, { metadata: { name: "a", namespace: "default" }, spec: { containers: [{ name: "a", image: "a" }] } })
    console.log((await client.list(Pod)).items.length, (await client.list(Node)).items.length)
    process.exit()`
  const { status, stdout, stderr } = k3ts("--api-only", "--", process.execPath, "-e", program)
  // then
  expect([status, stdout, stderr]).toEqual([0, "1 0\n", ""])
})

test.each([
  [["--api-only", "--nodes", "2"], 2, "--api-only has no nodes"],
  [["--", "/no/such/program"], 127, "cannot run /no/such/program"],
  [["--nodes", "many"], 2, "must be a whole number"],
] as const)("test-cluster %j exits with %d", (args, code, message) => {
  const { status, stderr } = k3ts(...args)
  expect(status).toBe(code)
  expect(stderr).toContain(message)
})
