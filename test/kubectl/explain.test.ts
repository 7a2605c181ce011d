import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { readFile } from "node:fs/promises"

/** What kubectl 1.36 answered for the custom resource below, output and errors together. */
const recorded = JSON.parse(await readFile(new URL("explain.recorded.json", import.meta.url), "utf8")) as readonly {
  readonly args: string
  readonly output: string
}[]

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.ex.com}
spec:
  group: ex.com
  names: {kind: Foo, plural: foos, shortNames: [fo]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: "Foo is a thing.\\n\\n * one\\n * two\\n    code here\\nlong text that goes on and on and on and on and on and on and on and on and on and on and on for long."
        properties:
          spec:
            type: object
            required: [mode]
            properties:
              mode: {type: string, enum: [A, "", B, C, D, E], description: The mode.}
              n: {type: integer, enum: [1, 2]}
              any: {x-kubernetes-preserve-unknown-fields: true}
              m: {type: object, additionalProperties: {type: array, items: {type: object, properties: {x: {type: string, description: "x of m"}}}}}
              b: {type: boolean, externalDocs: {url: "https://example.com", description: "more of it"}}
`

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 })
  await cluster.kubectl("create -f -", { stdin: DEFINITION })
  await cluster.kubectl("wait --for=condition=Established crd/foos.ex.com")
})
afterAll(() => cluster.stop())

describe("kubectl explain answers as upstream's", () => {
  test.each(recorded)("explain $args", async ({ args, output }) => {
    const { stdout, stderr } = await cluster.kubectl(`explain ${args}`)
    expect(stdout + stderr).toBe(output)
  })

  test.each([
    { args: "", wants: 'error: You must specify the type of resource to explain. Use "kubectl api-resources"' },
    { args: "pods nodes", wants: "error: We accept only this format: explain RESOURCE\n" },
    { args: "pods -o json", wants: "error: unrecognized format: json\n" },
    { args: "pods[*]", wants: "error: invalid jsonpath syntax, first node must be field node\n" },
    {
      args: "deployments --api-version=apps/v9",
      wants: `error: couldn't find resource for "apps/v9, Resource=deployments"\n`,
    },
    { args: "nope", wants: `the server doesn't have a resource type "nope"\n` },
  ])("explain $args fails with: $wants", async ({ args, wants }) => {
    const { stderr, code } = await cluster.kubectl(`explain ${args}`)
    expect(stderr).toStartWith(wants)
    expect(code).toBe(1)
  })
})
