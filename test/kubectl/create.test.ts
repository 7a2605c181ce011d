import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./create.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

const FILES = {
  "data/a.txt": "hi\n",
  "data/a.env": "# c\nA=1\n  B=2 \nFOO\n\nC=a=b\nE=\n",
  "data/bad.env": "1A B=x\n",
}

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

describe("kubectl create, for each kind of object", () => {
  steps("answers every command line as kubectl does", () => c, ROWS, FILES)

  test("prints answers of the server in the order of Go's fields, and maps in that of their keys", async () => {
    const { stdout } = await c.kubectl("create configmap ordered --from-literal=9=a --from-literal=10=b -o json")
    expect([...stdout.matchAll(/^ {4,8}"(kind|apiVersion|metadata|name|data|10|9)":/gm)].map(([, key]) => key)).toEqual(
      ["kind", "apiVersion", "metadata", "name", "data", "10", "9"],
    )
  })

  test.each(["create configmap a", "create deployment a --image=b", "run a --image=b"])(
    "fails for authorities that are none, also where nothing is sent: %s",
    async (line) => {
      const flags = "--dry-run=client --certificate-authority=data/a.txt --server=https://nowhere"
      expect(await c.kubectl(`${line} ${flags}`, { files: FILES })).toMatchObject({
        stdout: "",
        stderr: "error: unable to load root certificates: unable to parse bytes as PEM block\n",
        code: 1,
      })
    },
  )

  test("checks files of a certificate only where something is sent", async () => {
    const flags = "--client-certificate=data/a.txt --client-key=data/a.txt --server=https://nowhere"
    const dry = await c.kubectl(`create configmap a --dry-run=client ${flags}`, { files: FILES })
    expect(dry).toMatchObject({ stdout: "configmap/a created (dry run)\n", stderr: "", code: 0 })
    const { stderr } = await c.kubectl(`create configmap a ${flags}`, { files: FILES })
    expect(stderr).toEndWith(": tls: failed to find any PEM data in certificate input\n")
  })

  test("knows the list of each kind, in which objects need not say their kind", async () => {
    const list = {
      apiVersion: "v1",
      kind: "ConfigMapList",
      items: [{ metadata: { name: "listed" }, data: { a: "b" } }],
    }
    const { stdout, stderr } = await c.kubectl("create -f -", { stdin: JSON.stringify(list) })
    expect([stdout, stderr]).toEqual(["configmap/listed created\n", ""])
    const unknown = await c.kubectl("create -f -", { stdin: JSON.stringify({ ...list, kind: "NopeList" }) })
    expect(unknown.stderr).toContain('no matches for kind "NopeList" in version "v1"')
  })
})
