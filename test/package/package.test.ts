import { afterAll, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { testDocumentation } from "./documentation/documentation.ts"
import { DRILL, PARALLEL, PROGRAM } from "./program.ts"
import { BUN, DENO, findNode, packArchive, Project, root, TSC } from "./project.ts"
import { TYPED } from "./typed.ts"

/**
 * The npm package, from its archive in an empty project. `npm run test:release` does the same with every test runner
 * and with the versions of Node that the package promises.
 */

const OLDEST_NODE = 22
const archive = packArchive()
const project = new Project([archive])
afterAll(() => project[Symbol.dispose]())
project.write("program.mjs", PROGRAM)
project.write("drill.mjs", DRILL)
project.write("parallel.mjs", PARALLEL)

const node = findNode(OLDEST_NODE, ["node"])
const deno = existsSync(DENO) ? DENO : undefined
if (node === undefined)
  console.error(`SKIPPED: no Node ${OLDEST_NODE} or later is on the PATH; npm run test:release brings its own`)
if (deno === undefined) console.error(`SKIPPED: ${DENO} is missing: npm install`)

for (const { title, program, args } of [
  { title: "Bun", program: BUN, args: [] },
  { title: "Deno", program: deno, args: ["run", "--allow-all", "--no-lock"] },
  { title: "Node", program: node, args: [] },
]) {
  test.skipIf(program === undefined)(`a test cluster runs from the archive under ${title}`, () => {
    const { status, output } = project.run(program ?? "", [...args, "program.mjs"])
    expect(output).toContain("the package works")
    expect(status).toBe(0)
  })

  test.skipIf(program === undefined)(`clusters run on several cores from the archive under ${title}`, () => {
    const { status, output } = project.run(program ?? "", [...args, "parallel.mjs"])
    expect(output).toContain("drills run on several cores")
    expect(status).toBe(0)
  })
}

test.each(["k3ts/testing", "k3ts/operator"])("importing %s on an older Node fails with what it needs", (entry) => {
  // given a runtime that says it is Node 20
  const versions = `Object.defineProperty(process, "versions", { value: { node: "20.20.2" } })`
  project.write("older.mjs", `${versions}\nawait import("${entry}")\n`)
  // when
  const { status, output } = project.run(BUN, ["older.mjs"])
  // then
  expect(output).toContain("k3ts needs Node 22.15 or later, Bun 1.4 or Deno 2.9; this is Node 20.20.2")
  expect(status).not.toBe(0)
})

const CONFIG = { strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true, types: [] }

test.each([
  { title: "NodeNext, without types of a runtime or of the DOM", options: { module: "nodenext", lib: ["es2022"] } },
  { title: "NodeNext, with the DOM's types", options: { module: "nodenext" } },
  { title: "bundler resolution", options: { module: "preserve", moduleResolution: "bundler", lib: ["es2022"] } },
])("the types have no error for tsc with $title", ({ options }) => {
  project.write("typed.ts", TYPED)
  project.write(
    "tsconfig.json",
    JSON.stringify({ compilerOptions: { target: "es2022", ...CONFIG, ...options }, include: ["typed.ts"] }),
  )
  const { status, output } = project.run(BUN, [TSC, "-p", "."])
  expect(output).toBe("")
  expect(status).toBe(0)
})

test("the archive contains no tests and no paths of this checkout", () => {
  const files = project.run("find", ["node_modules/k3ts", "-type", "f"]).output.trim().split("\n")
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((path) => /\.test\.|\.fixtures\.|(?<!\.d)\.ts$/.test(path))).toEqual([])
  const telling = files.filter((path) => readFileSync(join(project.folder, path), "utf8").includes(root))
  expect(telling).toEqual([])
})

test("the public API is what docs/api.txt lists; npm run package -- --write-api changes the list", () => {
  expect(readFileSync(join(dirname(archive), "api.txt"), "utf8")).toBe(readFileSync(join(root, "docs/api.txt"), "utf8"))
})

test("the package has no dependencies", () => {
  expect(project.run("ls", ["node_modules"]).output).toBe("k3ts\n")
})

testDocumentation(project)
