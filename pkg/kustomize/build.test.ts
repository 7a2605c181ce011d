import { expect, test } from "bun:test"
import { buildKustomization } from "./build.ts"
import type { KustomizeFiles } from "./loader/files.ts"

/** Builds a folder of files in memory. Returns the output as YAML. */
const build = async (texts: Readonly<Record<string, string>>, path = "/app"): Promise<string> =>
  (await buildKustomization(path, { files: filesOf(texts), order: "none" })).toYaml()

function filesOf(texts: Readonly<Record<string, string>>): KustomizeFiles {
  const paths = Object.keys(texts)
  return {
    workingFolder: "/",
    kindOf: async (path) =>
      Object.hasOwn(texts, path) ? "file" : paths.some((file) => file.startsWith(`${path}/`)) ? "folder" : undefined,
    realPath: async (path) => path,
    read: async (path) => new TextEncoder().encode(texts[path]),
  }
}

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the one
spec:
  template:
    spec:
      containers:
      - name: web
        image: registry:5000/web:1.0
        ports:
        - containerPort: 80
        env:
        - {name: A, value: "1"}
      - name: side
        image: side
      volumes:
      - name: config
        configMap: {name: settings}
`

test("prefix, namespace and the content hash change a name and all references to it", async () => {
  // Given a deployment that uses a generated ConfigMap
  const files = {
    "/app/kustomization.yaml":
      "namePrefix: a-\nnamespace: prod\nresources: [web.yaml]\nconfigMapGenerator: [{name: settings, literals: [k=v]}]",
    "/app/web.yaml": DEPLOYMENT,
  }

  // When it is built
  const yaml = await build(files)

  // Then the hash is kustomize's, and the volume has the new name
  expect(yaml).toContain("name: a-settings-bdg947hgcc\n  namespace: prod\n")
  expect(yaml).toContain("      - configMap:\n          name: a-settings-bdg947hgcc\n        name: config\n")
  expect(yaml).toContain("kind: Deployment\nmetadata:\n  name: a-web\n  namespace: prod\n")
})

test("a strategic merge patch merges containers by name, and those of the patch come first", async () => {
  // Given a patch of two containers, of which one is new
  const patch = `
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      template:
        spec:
          containers:
          - name: new
            image: new
          - name: side
            $patch: delete
          - name: web
            env: [{name: B, value: "2"}]`
  const files = {
    "/app/kustomization.yaml": `resources: [web.yaml]\npatches:\n- patch: |-${patch}`,
    "/app/web.yaml": DEPLOYMENT,
  }

  // When it is built
  const yaml = await build(files)

  // Then the order is that of the patch, and lists inside are merged too
  expect(yaml).toContain(`      containers:
      - image: new
        name: new
      - env:
        - name: B
          value: "2"
        - name: A
          value: "1"
        image: registry:5000/web:1.0
        name: web
        ports:
        - containerPort: 80
`)
})

test("a strategic merge patch of a custom resource replaces its lists", async () => {
  // Given a kind that is not built in
  const files = {
    "/app/kustomization.yaml":
      "resources: [crd.yaml]\npatches: [{patch: '{apiVersion: x/v1, kind: Foo, metadata: {name: f}, spec: {items: [{name: b}]}}'}]",
    "/app/crd.yaml": "apiVersion: x/v1\nkind: Foo\nmetadata: {name: f}\nspec: {items: [{name: a}]}\n",
  }

  // When it is built, then the list is that of the patch
  expect(await build(files)).toBe("apiVersion: x/v1\nkind: Foo\nmetadata:\n  name: f\nspec:\n  items:\n  - name: b\n")
})

test("a JSON patch is applied to all objects that match its target's patterns", async () => {
  // Given two objects, and a target by a regular expression
  const files = {
    "/app/kustomization.yaml": `resources: [all.yaml]
patches:
- target: {kind: ConfigMap, name: "a.*"}
  patch: |-
    - {op: add, path: /data/k, value: v}`,
    "/app/all.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: a1}
data: {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ba}
data: {}
`,
  }

  // When it is built
  const yaml = await build(files)

  // Then only the one whose whole name matches is changed
  expect(yaml).toContain("data:\n  k: v\nkind: ConfigMap\nmetadata:\n  name: a1\n")
  expect(yaml).toContain("data: {}\nkind: ConfigMap\nmetadata:\n  name: ba\n")
})

test("images, replicas and replacements set fields", async () => {
  // Given a new tag for an image of a registry with a port, a count, and a value that is copied
  const files = {
    "/app/kustomization.yaml": `resources: [web.yaml]
images: [{name: "registry:5000/web", newTag: "2.0"}]
replicas: [{name: web, count: 3}]
replacements:
- source: {kind: Deployment, fieldPath: metadata.name}
  targets:
  - select: {kind: Deployment}
    fieldPaths: ["spec.template.spec.containers.[name=side].image"]
    options: {delimiter: "/", index: -1}`,
    "/app/web.yaml": DEPLOYMENT,
  }

  // When it is built
  const yaml = await build(files)

  // Then all three are in the output
  expect(yaml).toContain("image: registry:5000/web:2.0\n")
  expect(yaml).toContain("spec:\n  replicas: 3\n")
  expect(yaml).toContain("- image: web/side\n")
})

test("a scalar keeps its type through what changes its text", async () => {
  // Given text that looks like a number, words of YAML 1.1, a time, and an anchor
  const files = {
    "/app/kustomization.yaml": "resources: [cm.yaml]\ncommonLabels: {build: '12'}",
    "/app/cm.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: c, annotations: &all {a: "1"}}
data: {yes: yes, octal: 0o17, day: 2020-01-01, <<: *all}
`,
  }

  // When it is built, then go-yaml v3 has read it and v2 has written it
  expect(await build(files)).toBe(`apiVersion: v1
data:
  a: "1"
  day: "2020-01-01T00:00:00Z"
  octal: 15
  "yes": "yes"
kind: ConfigMap
metadata:
  annotations:
    a: "1"
  labels:
    build: "12"
  name: c
`)
})

test.each([
  {
    title: "a file outside the folder",
    files: { "/app/kustomization.yaml": "resources: [../secret.yaml]", "/secret.yaml": DEPLOYMENT },
    error:
      "accumulating resources: accumulation err='accumulating resources from '../secret.yaml': security; file '/secret.yaml' is not in or below '/app'': " +
      "must build at directory: '/secret.yaml': file is not directory",
  },
  {
    title: "a cycle",
    files: { "/app/kustomization.yaml": "resources: [base]", "/app/base/kustomization.yaml": "resources: [..]" },
    error:
      "accumulating resources: accumulation err='accumulating resources from 'base': '/app/base' must resolve to a file': " +
      "recursed accumulation of path '/app/base': accumulating resources: " +
      "accumulation err='accumulating resources from '..': '/app' must resolve to a file': " +
      "cycle detected: candidate root '/app' contains visited root '/app/base'",
  },
  {
    title: "a field that is not known",
    files: { "/app/kustomization.yaml": "resource: []" },
    error: 'invalid Kustomization: json: unknown field "resource"',
  },
  {
    title: "a value of another type",
    files: { "/app/kustomization.yaml": "images: [{name: a, newTag: 1}]" },
    error:
      "invalid Kustomization: json: cannot unmarshal number into Go struct field Image.images.newTag of type string",
  },
  {
    title: "a patch without a target",
    files: { "/app/kustomization.yaml": "patches: [{patch: '{kind: Foo, metadata: {name: x}}'}]" },
    error:
      'no resource matches strategic merge patch "Foo.[noVer].[noGrp]/x.[noNs]": no matches for Id Foo.[noVer].[noGrp]/x.[noNs]; ' +
      "failed to find unique target for patch Foo.[noVer].[noGrp]/x.[noNs]",
  },
  {
    title: "a chart",
    files: { "/app/kustomization.yaml": "helmCharts: [{name: c}]" },
    error:
      "trouble configuring builtin HelmChartInflationGenerator with config: `\nname: c\n`: must specify --enable-helm",
  },
  {
    title: "a repository, without git",
    files: { "/app/kustomization.yaml": "resources: ['git@github.com:a/b']" },
    error:
      "accumulating resources: accumulation err='accumulating resources from 'git@github.com:a/b': " +
      "evalsymlink failure on '/app/git@github.com:a/b' : lstat /app/git@github.com:a: no such file or directory': " +
      `no 'git' program on path: exec: "git": executable file not found in $PATH`,
  },
])("$title is refused in kustomize's words", async ({ files, error }) => {
  // Given a kustomization with a fault
  // When it is built
  const built = build(files)

  // Then the error is upstream's
  await expect(built).rejects.toThrow(error)
})
