import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../testing.ts"
import { wordsOf } from "./words.ts"

const WEB = `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: b}
`

describe("cluster.kubectl", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1 })
    await cluster.apply(WEB)
  })
  afterAll(() => cluster.stop())

  test("prints what kubectl prints, without a socket", async () => {
    expect(await cluster.kubectl("get configmap web -o name")).toMatchObject({
      code: 0,
      stdout: "configmap/web\n",
      stderr: "",
    })
  })

  test("shows ages by the cluster's clock", async () => {
    await cluster.advance("2h")
    const { stdout } = await cluster.kubectl("get cm web")
    expect(stdout).toBe("NAME   DATA   AGE\nweb    1      120m\n")
  })

  test("gives the words and the exit code of a failure", async () => {
    expect(await cluster.kubectl(["get", "pod", "nosuch"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: 'Error from server (NotFound): pods "nosuch" not found\n',
    })
  })

  test("finds the files of the test and its input, and no others", async () => {
    expect(await cluster.kubectl("get -f web.yaml -o name", { files: { "web.yaml": WEB } })).toMatchObject({
      stdout: "configmap/web\n",
    })
    expect(await cluster.kubectl("get -f - -o name", { stdin: WEB })).toMatchObject({ stdout: "configmap/web\n" })
    expect(await cluster.kubectl("get -f /etc/passwd")).toMatchObject({
      code: 1,
      stderr: 'error: the path "/etc/passwd" does not exist\n',
    })
  })

  test("ends a watch at the signal of the test", async () => {
    const end = new AbortController()
    const watching = cluster.kubectl("get configmap web --watch -o name", { signal: end.signal })
    await cluster.advance("1s")
    end.abort()
    expect(await watching).toMatchObject({ code: 1, stdout: "configmap/web\n" })
  })
})

test.each([
  { line: "get pods -o wide", words: ["get", "pods", "-o", "wide"] },
  { line: `patch x -p '{"a": "b c"}'`, words: ["patch", "x", "-p", '{"a": "b c"}'] },
  { line: String.raw`run x --env="A=b \"c\"" a\ b`, words: ["run", "x", '--env=A=b "c"', "a b"] },
])("a command line is split as a shell does: $line", ({ line, words }) => expect(wordsOf(line)).toEqual(words))
