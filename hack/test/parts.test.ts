import { expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { everyPart, leftOutOf, partsOf } from "./parts.ts"

const ROOT = join(import.meta.dirname, "../..")

const files = ["pkg", "components", "cmd", "hack", "test"].flatMap((room) =>
  readdirSync(join(ROOT, room), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `${room}/${name}`),
)

test("every file with tests is in exactly one part", () => {
  const parts = everyPart(ROOT)
  const holders = (file: string) =>
    parts.filter((part) => (file === part.name || file.startsWith(`${part.name}/`)) && !leftOutOf(part).includes(file))
  // then
  expect(files.length).toBeGreaterThan(700)
  expect(files.filter((file) => holders(file).length !== 1)).toEqual([])
  expect(parts.filter(({ name }) => !existsSync(join(ROOT, name)))).toEqual([])
})

test("every file that uses this machine as a node is in a part that no other one of that sort runs beside", () => {
  const users = files.filter((file) => /^describeOnNode\(/m.test(readFileSync(join(ROOT, file), "utf8")))
  expect(users.length).toBeGreaterThan(20)
  expect(users.filter((file) => partsOf(ROOT, file)[0]?.beside === "all")).toEqual([])
})

test.each([
  { path: "./pkg/oci/", names: ["pkg/oci"], beside: "all", needsBuild: false },
  { path: "test/cli", names: ["test/cli"], beside: "all", needsBuild: true },
  { path: "test/start.test.ts", names: ["test/start.test.ts"], beside: "all", needsBuild: false },
  { path: "components/containerd", names: ["components/containerd"], beside: "no other node", needsBuild: false },
  { path: "test/e2e/streams", names: ["test/e2e/streams"], beside: "no other node", needsBuild: true },
  { path: "test/e2e/servers", names: ["test/e2e/servers"], beside: "all", needsBuild: true },
  {
    path: "test/e2e/node/killall.test.ts",
    names: ["test/e2e/node/killall.test.ts"],
    beside: "nothing",
    needsBuild: true,
  },
] as const)("$path is part $names, beside $beside", ({ path, names, beside, needsBuild }) => {
  const parts = partsOf(ROOT, path)
  expect(parts.map(({ name }) => name)).toEqual([...names])
  expect(parts[0]).toMatchObject({ beside, needsBuild })
})

test("a folder with a test that runs alone has a part for that test", () => {
  const [folder, alone] = partsOf(ROOT, "test/e2e/node")
  expect(alone?.name).toBe("test/e2e/node/killall.test.ts")
  expect(leftOutOf(folder!)).toEqual([alone!.name])
})
