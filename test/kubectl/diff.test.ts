import { afterAll, beforeAll, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 })
})
afterAll(() => cluster.stop())

const object = (kind: string, data: object): string =>
  JSON.stringify({ apiVersion: "v1", kind, metadata: { name: "c" }, data })

/** Stands for the program: it says how it was called, and that there are differences. */
const program = (name: string, args: readonly string[]) => ({
  code: 1,
  stdout: `${name} ${args.map((arg) => arg.replace(/\d+$/, "N")).join(" ")}\n`,
})

test("kubectl diff gives two folders to the program of a variable, and ends with its code", async () => {
  // Given an object that is there, and a program with arguments
  await cluster.kubectl("apply -f -", { stdin: object("ConfigMap", { a: "1" }) })

  // When another version is compared
  const options = { stdin: object("ConfigMap", { a: "2" }), program, env: { KUBECTL_EXTERNAL_DIFF: "mydiff -x a;b" } }
  const { code, stdout, stderr } = await cluster.kubectl("diff -f -", options)

  // Then arguments that could be commands of a shell are left out, and the object stays as it is
  expect(stderr).toBe("")
  expect(stdout).toBe("mydiff /tmp/LIVE-N /tmp/MERGED-N -x\n")
  expect(code).toBe(1)
  expect((await cluster.kubectl("get cm c -o jsonpath={.data.a}")).stdout).toBe("1")
})

test("kubectl diff ends with 0 when the program finds no difference", async () => {
  // Given an object that was applied, and a program that finds both versions equal
  const stdin = object("Secret", { k: "dg==" })
  await cluster.kubectl("apply -f -", { stdin })

  // When the same is compared
  const { code } = await cluster.kubectl("diff -f -", { stdin, program: () => ({ code: 0 }) })

  // Then the code is that of the program
  expect(code).toBe(0)
})

test("kubectl diff ends with 2 when something is wrong", async () => {
  // Given no program
  // When objects are compared
  const { code, stderr } = await cluster.kubectl("diff -f -", { stdin: object("ConfigMap", { a: "2" }) })

  // Then it says so
  expect(stderr).toBe('error: failed to run "diff": executable file not found in $PATH\n')
  expect(code).toBe(2)
})

test("kubectl diff ends with 2 for a flag that there is not, and compares several objects at once if asked", async () => {
  const wrong = await cluster.kubectl("diff --nope -f -")
  expect(wrong.stderr).toBe("error: unknown flag: --nope\nSee 'kubectl diff -h' for help and examples\n")
  expect(wrong.code).toBe(2)
  const stdin = [1, 2, 3].map((n) => object("ConfigMap", { n: "1" }).replace('"c"', `"c${n}"`)).join("\n")
  expect((await cluster.kubectl("diff --concurrency=3 -f -", { stdin, program })).code).toBe(1)
})
