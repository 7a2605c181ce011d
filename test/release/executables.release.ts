/** The executables of a release on the processors that they are for, in the emulation of qemu's user mode. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Kubectl, run } from "../harness/kubectl.ts"
import { startServer } from "../harness/server.ts"
import { released, Scratch, unpackImage, VERSION } from "./dist.ts"

const scratch = new Scratch()
const libraries = join(scratch.path, "arm64")
afterAll(() => scratch[Symbol.dispose]())
beforeAll(async () => {
  expect(await run("mkdir", [libraries])).toMatchObject({ code: 0 })
  await unpackImage("arm64", libraries)
})

/** Writes a program that runs an executable in an emulator. Returns its path. */
function emulated(name: string, command: string): string {
  const path = join(scratch.path, name)
  writeFileSync(path, `#!/bin/sh\nexec ${command} "$@"\n`)
  chmodSync(path, 0o755)
  return path
}

describe.each([
  {
    processor: "an arm64",
    platform: "linux/arm64",
    command: `qemu-aarch64 -L ${libraries} ${released("k3ts-linux-arm64")}`,
  },
  {
    // The oldest that the executable is for: SSE4.2, and no AVX.
    processor: "an amd64 of 2008",
    platform: "linux/amd64",
    command: `qemu-x86_64 -cpu Nehalem ${released("k3ts-linux-amd64")}`,
  },
])("on $processor", ({ platform, command }) => {
  const k3ts = emulated(platform.replace("/", "-"), command)

  test("version prints its version and platform", async () => {
    const { code, out } = await run(k3ts, ["version", "--output", "json"])
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ version: VERSION, platform })
  })

  test("the example images inside are for the same architecture", async () => {
    const archive = join(scratch.path, `${platform.replace("/", "-")}.tar`)
    expect(await run(k3ts, ["images", "export", archive])).toMatchObject({ code: 0 })
    const configs = (
      await run("sh", [
        "-c",
        'tar -xOf "$1" --wildcards "blobs/*" | grep -ao \'"architecture":"[^"]*"\'',
        "sh",
        archive,
      ])
    ).out
    expect(new Set(configs.trim().split("\n"))).toEqual(
      new Set([`"architecture":"${platform.slice("linux/".length)}"`]),
    )
  })

  test("check-config reports on the machine", async () => {
    expect((await run(k3ts, ["check-config"])).out).toMatch(/\n\d+ found, /)
  })

  test("a server serves what kubectl applies, and its simulated node runs the pods", async () => {
    // given a server
    await using server = await startServer({ agent: "simulated", program: [k3ts] })
    const kubectl = new Kubectl({ kubeconfig: server.kubeconfig, home: mkdtempSync(join(scratch.path, "home-")) })
    // when the example is applied
    await kubectl.ok(["apply", "-f", join(import.meta.dirname, "../../manifests/examples/web.yaml")])
    // then it is rolled out
    expect(await kubectl.ok("rollout status deploy/web --timeout=60s")).toContain("successfully rolled out")
    expect((await server.get("/apis/apps/v1/namespaces/default/deployments/web")).status).toBe(200)
  })
})
