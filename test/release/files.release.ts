/** The files of a release, as a user downloads them. */
import { afterAll, expect, test } from "bun:test"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { run } from "../harness/kubectl.ts"
import { RELEASE, released, root, Scratch, VERSION } from "./dist.ts"

const scratch = new Scratch()
afterAll(() => scratch[Symbol.dispose]())

test("SHA256SUMS has every file", async () => {
  const { code, out } = await run("sh", ["-c", `cd ${RELEASE} && sha256sum --strict --check SHA256SUMS`])
  expect(code).toBe(0)
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => line.replace(/: OK$/, "")),
  ).toEqual(
    readdirSync(RELEASE)
      .filter((name) => name !== "SHA256SUMS")
      .sort(),
  )
})

test.each(["amd64", "arm64"])(
  "the archive for %s has the executable with manifests and completions",
  async (architecture) => {
    const name = `k3ts-${VERSION}-linux-${architecture}`
    expect(await run("tar", ["-xzf", released(`${name}.tar.gz`), "-C", scratch.path])).toMatchObject({ code: 0 })
    const folder = join(scratch.path, name)
    const read = (file: string) => readFileSync(join(folder, file), "utf8")
    expect(readFileSync(join(folder, "k3ts")).equals(readFileSync(released(`k3ts-linux-${architecture}`)))).toBe(true)
    expect(statSync(join(folder, "k3ts")).mode & 0o777).toBe(0o755)
    expect(read("manifests/examples/web.yaml")).toBe(readFileSync(join(root, "manifests/examples/web.yaml"), "utf8"))
    expect(read("completions/k3ts.bash")).toContain("complete -F _k3ts k3ts")
    expect(read("completions/_k3ts")).toStartWith("#compdef k3ts")
    expect(read("completions/k3ts.fish")).toContain("complete -c k3ts")
    expect(read("man/man1/k3ts.1")).toContain(VERSION)
    expect(read("THIRD_PARTY_LICENSES.txt")).toContain("GNU GENERAL PUBLIC LICENSE")
  },
)

test("an executable holds no path of the machine that built it", async () => {
  for (const architecture of ["amd64", "arm64"])
    expect((await run("grep", ["-c", root, released(`k3ts-linux-${architecture}`)])).out).toBe("0\n")
})
