import { afterAll, beforeAll, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"

let cluster: Cluster
beforeAll(async () => {
  cluster = await startCluster({ nodes: 0 })
})
afterAll(() => cluster.stop())

const FILES = {
  "base/kustomization.yaml": "resources: [all.yaml]\nconfigMapGenerator: [{name: settings, literals: [k=v]}]\n",
  "base/all.yaml": `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: web, envFrom: [{configMapRef: {name: settings}}]}]
`,
  "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\ncommonLabels: {stage: prod}\n",
}

test("kubectl kustomize prints a kustomization, with warnings on the stream of errors", async () => {
  // Given an overlay of a base, which uses a deprecated field
  // When it is built
  const { code, stdout, stderr } = await cluster.kubectl("kustomize prod", { files: FILES })

  // Then the objects are sorted by kind, and names are those that belong together
  expect(code).toBe(0)
  expect(stdout).toStartWith("apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n")
  expect(stdout).toContain("        name: prod-settings-bdg947hgcc\n")
  expect(stderr).toBe(
    "# Warning: 'commonLabels' is deprecated. Please use 'labels' instead. " +
      "Run 'kustomize edit fix' to update your Kustomization automatically.\n",
  )
})

test("kubectl apply -k applies the objects of a kustomization", async () => {
  // Given the same overlay
  // When it is applied
  const { code, stdout, stderr } = await cluster.kubectl("apply -k prod", { files: FILES })

  // Then both objects are there
  expect(stderr).not.toContain("error")
  expect(stdout).toBe("configmap/prod-settings-bdg947hgcc created\npod/prod-web created\n")
  expect(code).toBe(0)
})

test.each([
  { args: "kustomize nope", error: "lstat /home/user/nope: no such file or directory" },
  { args: "kustomize prod base", error: "error: specify one path to kustomization.yaml\n" },
  { args: "kustomize prod --reorder x", error: "illegal flag value --reorder x; legal values: [legacy none]\n" },
])("kubectl $args fails in upstream's words", async ({ args, error }) => {
  // Given a wrong command line
  // When it is run
  const { code, stderr } = await cluster.kubectl(args, { files: FILES })

  // Then it says what is wrong
  expect(stderr).toContain(error)
  expect(code).toBe(1)
})
