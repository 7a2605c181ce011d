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

test.each([
  [["--", "/no/such/program"], 127, "cannot run /no/such/program"],
  [["--nodes", "many"], 2, "must be a whole number"],
] as const)("test-cluster %j exits with %d", (args, code, message) => {
  const { status, stderr } = k3ts(...args)
  expect(status).toBe(code)
  expect(stderr).toContain(message)
})
