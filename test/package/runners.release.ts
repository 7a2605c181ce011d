import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { cpSync } from "node:fs"
import { dirname, join } from "node:path"
import { exampleOf } from "./examples.ts"
import { HEADS, matcherTest, WRONG_USE, type RunnerName } from "./matchers.ts"
import { DRILL, PARALLEL, PROGRAM } from "./program.ts"
import { BUN, DENO, packArchive, Project, TSC, type Outcome } from "./project.ts"
import { fetchNode, NODES } from "./runtimes.ts"

/**
 * The npm package from its archive, in an empty project of each test runner, with every version of Node that it
 * promises. The test is the example of the documentation, unchanged.
 */

const RUNNERS = ["vitest@5.1.1", "jest@30.5.2", "expect@30.5.2", "@jest/globals@30.5.2", "bun-types@1.4.4"]
/** The first versions that the package names as peers. */
const FIRST_RUNNERS = ["vitest@5.0.0", "jest@30.0.0", "expect@30.0.0", "@jest/globals@30.0.0", "bun-types@1.4.4"]
const TEXTS = ["README.md", "docs/testing.md", "hack/package/README.md"]

let project: Project
beforeAll(() => {
  project = new Project([packArchive(), ...RUNNERS])
  cpSync(join(import.meta.dirname, "documentation/files"), project.folder, { recursive: true })
  project.write("program.mjs", PROGRAM)
  project.write("drill.mjs", DRILL)
  project.write("parallel.mjs", PARALLEL)
  // What each runner is given: the line that brings `test` and `expect`, and then the text's example.
  for (const [at, text] of TEXTS.entries()) {
    const example = exampleOf(text)
    const node = `${HEADS.expect}\n${example}`
    const jest = `${HEADS.jest}\n${example}`
    project.write(`bun/${at}.test.ts`, `${HEADS.bun}\n${example}`)
    project.write(`globals/${at}.test.ts`, example)
    project.write(`vitest/${at}.test.ts`, `${HEADS.vitest}\n${example}`)
    project.write(`deno/${at}.test.ts`, node)
    project.write(`node24/${at}.test.mjs`, node)
    project.write(`node22/${at}.test.mts`, node)
    project.write(`jest24/${at}.test.mjs`, jest)
    project.write(`jest22/${at}.test.mts`, jest)
  }
  // Node 22 does not know `await using`: the compiler translates it.
  const config = { target: "es2022", module: "nodenext", noCheck: true, rootDir: ".", outDir: "." }
  project.write(
    "tsconfig.json",
    JSON.stringify({ compilerOptions: config, include: ["node22", "jest22"], exclude: [] }),
  )
  const compiled = project.run(BUN, [TSC, "-p", "."])
  if (compiled.status !== 0) throw new Error(compiled.output)
}, 300_000)
afterAll(() => project[Symbol.dispose]())

/** Whether the tests of all texts have run, and passed. */
function expectPassed({ status, output }: Outcome, count: RegExp): void {
  expect(output).toMatch(count)
  expect(status).toBe(0)
}

describe("the example of the documentation passes", () => {
  test("with bun test", () => {
    expectPassed(project.run(BUN, ["test", "--timeout", "60000", "./bun"]), /\b3 pass\b/)
  })

  test("with bun test and its globals", () => {
    expectPassed(project.run(BUN, ["test", "--timeout", "60000", "./globals"]), /\b3 pass\b/)
  })

  test("with deno test", () => {
    expectPassed(
      project.run(DENO, ["test", "--allow-all", "--no-lock", "--no-check", "deno"]),
      /\b3 passed \| 0 failed/,
    )
  })

  for (const version of NODES) {
    const folder = (name: string) => `${name}${version.slice(0, 2)}`

    test(`with node --test of Node ${version}`, () => {
      const node = fetchNode(version)
      expectPassed(project.run(node, ["--test", `${folder("node")}/*.test.mjs`]), /^\S+ pass 3$/m)
    })

    test(`with jest on Node ${version}`, () => {
      const args = ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--testTimeout=60000", "--testMatch"]
      expectPassed(project.run(fetchNode(version), [...args, `**/${folder("jest")}/*.test.mjs`]), /^Tests: +3 passed/m)
    })

    test(`with vitest on Node ${version}`, () => {
      const args = ["node_modules/vitest/vitest.mjs", "run", "--testTimeout", "60000", "--dir", "vitest"]
      expectPassed(project.run(fetchNode(version), args), /Tests +3 passed/)
    })

    test(`and every function of the package works on Node ${version}`, () => {
      expectPassed(project.run(fetchNode(version), ["program.mjs"]), /the package works/)
      expectPassed(project.run(fetchNode(version), ["parallel.mjs"]), /drills run on several cores/)
    })
  }
})

describe.each(["newest", "first"])("the matchers, with the %s versions of the runners,", (versions) => {
  const node = () => fetchNode("24.21.0")
  let first: Project | undefined
  beforeAll(() => {
    if (versions === "first") first = new Project([packArchive(), ...FIRST_RUNNERS])
  }, 300_000)
  const chosen = () => first ?? project
  afterAll(() => first?.[Symbol.dispose]())
  const runs: Readonly<Record<RunnerName, (file: string) => Outcome>> = {
    bun: (file) => chosen().run(BUN, ["test", "--timeout", "60000", `./${file}`]),
    vitest: (file) => chosen().run(node(), ["node_modules/vitest/vitest.mjs", "run", "--testTimeout", "60000", file]),
    jest: (file) =>
      chosen().run(node(), [
        "--experimental-vm-modules",
        "node_modules/jest/bin/jest.js",
        "--testTimeout=60000",
        "--testMatch",
        `**/${file}`,
      ]),
    expect: (file) => chosen().run(node(), ["--test", file]),
  }
  for (const [name, run] of Object.entries(runs) as [RunnerName, (file: string) => Outcome][])
    test(`work with the expect of ${name}, and are in its types`, () => {
      const file = `matchers/${name}.test`
      chosen().write(`${file}.mjs`, matcherTest(name))
      expectPassed(run(`${file}.mjs`), /\b1 pass|pass 1\b/)

      chosen().write(`${file}.ts`, `${matcherTest(name)}${WRONG_USE}`)
      const types = name === "bun" ? ["bun-types"] : ["node"]
      const options = { strict: true, noEmit: true, target: "es2022", module: "nodenext", types, skipLibCheck: false }
      chosen().write("matchers/tsconfig.json", JSON.stringify({ compilerOptions: options, files: [`${name}.test.ts`] }))
      // Faults in the types of a runner are not ours.
      const faults = chosen().run(BUN, [TSC, "-p", "matchers", "--pretty", "false"]).output.split("\n")
      expect(faults.filter((line) => /^matchers|^node_modules\/k3ts/.test(line))).toEqual([])
    })
})

/** A suite in another language, which exits with a code of its own. */
const SUITE = `
set -e
kubectl create deployment web --image=web:1 --replicas=2
kubectl wait deployment/web --for=condition=Available --timeout=60s
pod=$(kubectl get pods -l app=web -o name | head -n 1)
kubectl exec "$pod" -- echo "said in a container"
kubectl logs "$pod"
exit 7
`

describe("npx k3ts test-cluster runs a command beside a cluster", () => {
  const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0
  if (!hasKubectl) console.error("SKIPPED: no kubectl is on the PATH, so nothing shows that it reaches these clusters")
  const programs: readonly (readonly [title: string, program: () => string, args: readonly string[]])[] = [
    ["Bun", () => BUN, []],
    ["Deno", () => DENO, ["run", "--allow-all"]],
    ...NODES.map((version) => [`Node ${version}`, () => fetchNode(version), []] as const),
  ]
  for (const [title, program, args] of programs)
    test.skipIf(!hasKubectl)(`on ${title}`, () => {
      const cli = [...args, "node_modules/k3ts/dist/cli.js", "test-cluster", "--nodes", "2", "--", "bash", "-c", SUITE]
      const { status, output } = project.run(program(), cli)
      expect(output).toContain("said in a container")
      expect(status).toBe(7)
    })

  test("by its name", () => {
    const node = fetchNode(NODES[1])
    const { status, output } = project.run("npx", ["k3ts", "version"], {
      PATH: `${dirname(node)}:${process.env["PATH"] ?? ""}`,
    })
    expect(output).toContain(`node ${NODES[1]}`)
    expect(status).toBe(0)
  })

  test("and refers to the executable for the commands of a node", () => {
    const { status, output } = project.run(BUN, ["node_modules/k3ts/dist/cli.js", "server"])
    expect(output).toContain("unknown command server; this is the npm package")
    expect(status).toBe(2)
  })
})
