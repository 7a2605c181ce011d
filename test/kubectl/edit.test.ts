import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
  await c.kubectl("create cm x --from-literal=a=b")
  await c.kubectl("create cm y --from-literal=a=b")
  await c.kubectl("create deploy web --image=nginx:1.19")
})
afterAll(() => c.stop())

interface Row {
  readonly command: string
  /** What the user replaces in the file, by what. */
  readonly replaces: RegExp
  readonly by: string
  /** What kubectl 1.36.2 says, with FILE for the temporary file. */
  readonly says: string
  readonly code?: number
}

const NOT_SAVED =
  'A copy of your changes has been stored to "FILE"\nerror: Edit cancelled, no valid changes were saved.\n'

/** Command lines, one after another. */
const ROWS: readonly Row[] = [
  { command: "edit cm x", replaces: /nothing/, by: "", says: "Edit cancelled, no changes made.\n" },
  { command: "edit cm x -o json", replaces: /nothing/, by: "", says: "Edit cancelled, no changes made.\n" },
  { command: "edit cm x --validate=false", replaces: /[^]*/, by: "", says: "Edit cancelled, saved file was empty.\n" },
  {
    command: "edit cm x --output-patch",
    replaces: /a: b/,
    by: "a: <x&y>",
    says: 'Patch: {"data":{"a":"\\u003cx\\u0026y\\u003e"}}\nconfigmap/x edited\n',
  },
  { command: "edit cm x y", replaces: /a: b/, by: "a: dd", says: "configmap/x skipped\nconfigmap/y edited\n" },
  {
    command: "edit deploy web --output-patch",
    replaces: /nginx:1.19/,
    by: "nginx:1.20",
    says: 'Patch: {"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"nginx"}],"containers":[{"image":"nginx:1.20","name":"nginx"}]}}}}\ndeployment.apps/web edited\n',
  },
  {
    command: "edit deploy web",
    replaces: /replicas: 1\n/,
    by: "replicas: -3\n",
    says: `error: deployments.apps "web" is invalid\n${NOT_SAVED}`,
    code: 1,
  },
  {
    command: "edit cm x",
    replaces: /^data:$/m,
    by: "data: [",
    says: `error: configmaps "x" is invalid\n${NOT_SAVED}`,
    code: 1,
  },
  { command: "edit cm x --validate=false", replaces: /^data:$/m, by: "data: [", says: NOT_SAVED, code: 1 },
  {
    command: "edit cm x",
    replaces: /name: x/,
    by: "name: z",
    says: 'A copy of your changes has been stored to "FILE"\nerror: At least one of apiVersion, kind and name was changed\n',
    code: 1,
  },
  {
    command: "edit cm y",
    replaces: /resourceVersion: .*/,
    by: 'resourceVersion: "1"',
    says: 'error: configmaps "y" could not be patched: Operation cannot be fulfilled on configmaps "y": the object has been modified; please apply your changes to the latest version and try again\nYou can run `kubectl replace -f FILE` to try this update again.\n',
    code: 1,
  },
]

describe("kubectl edit", () => {
  test("sends what the user has changed, and says of each edit what kubectl says", async () => {
    for (const { command, replaces, by, says, code = 0 } of ROWS) {
      // given: a user who replaces something, and the second time nothing
      let isAgain = false
      const editor = (text: string): string => {
        const changed = isAgain ? text : text.replace(replaces, () => by)
        isAgain = true
        return changed
      }
      // when
      const ran = await c.kubectl(command, { editor })
      // then
      const text = `${ran.stdout}${ran.stderr}`
        .replaceAll(/\S*kubectl-edit-\d+\.yaml/g, "FILE")
        .replaceAll('"FILE', "FILE")
      expect([command, text, ran.code]).toEqual([command, says.replaceAll('"FILE', "FILE"), code])
    }
  })

  test("says in the file why it must be edited again", async () => {
    // given: a user who makes a mistake, and mends it
    const seen: string[] = []
    const editor = (text: string): string => {
      seen.push(text)
      return seen.length === 1
        ? text.replace("replicas: 1", "replicas: -1")
        : text.replace("replicas: -1", "replicas: 2")
    }
    // when
    const ran = await c.kubectl("edit deploy web", { editor })
    // then
    expect(seen[1]).toContain(
      '# deployments.apps "web" was not valid:\n# * spec.replicas: Invalid value: -1: must be greater than or equal to 0\n#\napiVersion: apps/v1\n',
    )
    expect(ran.stdout).toBe("deployment.apps/web edited\n")
    expect(Object.keys(ran.files)).toEqual([])
  })

  test("lets the user edit what is created, and what was applied last", async () => {
    // given
    const files = { "cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {a: x}\n" }
    const replacing = (what: string, by: string) => ({ files, editor: (text: string) => text.replace(what, by) })
    // when
    const created = await c.kubectl("create -f cm.yaml --edit --save-config", replacing("a: x", "a: w"))
    const edited = await c.kubectl("apply edit-last-applied cm new", replacing("a: w", "a: z"))
    // then
    expect([created.stdout, created.stderr]).toEqual(["configmap/new created\n", ""])
    expect([edited.stdout, edited.stderr]).toEqual(["configmap/new edited\n", ""])
    const { stdout } = await c.kubectl("get cm new -o json")
    const { data, metadata } = JSON.parse(stdout) as { data: object; metadata: { annotations: object } }
    expect(data).toEqual({ a: "w" })
    expect(metadata.annotations).toEqual({
      "kubectl.kubernetes.io/last-applied-configuration":
        '{"apiVersion":"v1","data":{"a":"z"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"new","namespace":"default"}}\n',
    })
  })
})
