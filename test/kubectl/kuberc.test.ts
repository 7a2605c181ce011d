import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./kuberc.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

const FILES = {
  kuberc: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
defaults:
- command: apply
  options: [{name: server-side, default: "true"}, {name: dry-run, default: server}]
- command: get
  options: [{name: output, default: wide}]
- command: delete
  options: [{name: interactive, default: "true"}]
- command: nope
  options: [{name: x, default: "y"}]
aliases:
- {name: crns, command: create namespace, appendArgs: [test-ns]}
- {name: getn, command: get, prependArgs: [namespace], options: [{name: output, default: json}]}
- {name: runx, command: run, options: [{name: image, default: nginx}, {name: labels, default: "app=test,env=test"}], appendArgs: [pod2, --, a, b]}
- {name: get, command: describe}
- {name: bad, command: nosuch}
- {name: badflag, command: get, options: [{name: nosuch, default: x}]}
- {name: badval, command: scale, options: [{name: replicas, default: x}]}
`,
  kubercAlpha: `apiVersion: kubectl.config.k8s.io/v1alpha1
kind: Preference
overrides:
- command: get
  flags: [{name: output, default: name}]
aliases:
- {name: gp, command: get, flags: [{name: output, default: yaml}]}
unknown: 5
`,
  kubercOv: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
defaults:
- command: gn
  options: [{name: output, default: name}]
aliases: [{name: gn, command: get}]
`,
  kubercBad1: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
aliases: [{name: g1, command: get}]
`,
  kubercBad2: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
aliases: [{name: g, command: get},{name: g, command: get}]
`,
  kubercBad3: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
defaults: [{command: get, options: [{name: --output, default: name}]}]
`,
  kubercBad4: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
credentialPluginPolicy: Allowlist
`,
  kubercBad5: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
credentialPluginPolicy: Foo
`,
  kubercBad6: `apiVersion: v1
kind: Preference
`,
  kubercEmpty: ``,
  kubercAllow: `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
credentialPluginPolicy: Allowlist
credentialPluginAllowlist: [{command: foobar}]
`,
  "agg.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agg}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: why}}]}
rules: []
`,
}

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: u, user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: helper, interactiveMode: Never } } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
current-context: c
`

describe("preferences of kubectl", () => {
  steps("change command lines as kubectl's do", () => c, ROWS, FILES)

  test("are written by kuberc set, entry by entry", async () => {
    let text = ""
    for (const command of [
      "--section=defaults --command=get --option=--output=wide",
      "--section=defaults --command=apply",
      "--section=aliases --name=x --command=get --prependarg=a --appendarg=-- --option=output=name",
      "--section=aliases --name=x --command=describe --overwrite --appendarg=c",
      "--section=credentialplugin --policy=Allowlist --allowlist-entry=command=helper",
    ]) {
      const ran = await c.kubectl(`kuberc set --kuberc=krc ${command}`, { files: { krc: text } })
      expect([ran.stdout, ran.stderr]).toEqual(["Updated krc\n", ""])
      text = ran.files["krc"]!
    }
    expect(text).toBe(`aliases:
- appendArgs:
  - c
  command: describe
  name: x
  options:
  - default: name
    name: output
  prependArgs:
  - a
apiVersion: kubectl.config.k8s.io/v1beta1
credentialPluginAllowlist:
- command: helper
credentialPluginPolicy: Allowlist
defaults:
- command: get
  options:
  - default: wide
    name: output
- command: apply
  options: null
kind: Preference
`)
  })

  test("may have fields without a value, which are as if they were not there", async () => {
    const head = "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n"
    const krc = `${head}credentialPluginPolicy: AllowAll
credentialPluginAllowlist:
defaults:
- command: get
  options:
aliases:
- name: gns
  command: get
  prependArgs: [namespace]
  appendArgs:
  options:
- {name: gout, command: get, prependArgs: [namespace, default], options: [{name: output, default: }]}
`
    const old = "apiVersion: kubectl.config.k8s.io/v1alpha1\nkind: Preference\noverrides:\n"
    const kubercOld = `${old}aliases: [{name: gns, command: get, prependArgs: [namespace], flags: }]\n`
    const allow = `${head}credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist:\n`
    const unknown = "apiVersion: kubectl.config.k8s.io/constructor\nkind: Preference\n"
    const files = { krc, kubercOld, allow, unknown }
    const said = async (line: string) => {
      const { stdout, stderr } = await c.kubectl(line, { files })
      return stdout + stderr
    }
    expect(await said("gns default -o name --kuberc=krc")).toBe("namespace/default\n")
    expect(await said("gns default -o name --kuberc=kubercOld")).toBe("namespace/default\n")
    expect(await said("gout --no-headers --kuberc=krc")).toStartWith("default   Active")
    expect(await said("kuberc view --kuberc=kubercOld -o json")).toContain('"prependArgs": [')
    expect(
      await said("kuberc set --kuberc=krc --section=defaults --command=get --overwrite --option=output=name"),
    ).toBe("Updated krc\n")
    expect(await said("get ns --kuberc=allow")).toBe(
      'error occurred while applying preferences credential plugin policy set to "Allowlist", but allowlist is unspecified\n',
    )
    expect(await said("get ns --kuberc=unknown")).toBe(
      "error occurred while applying preferences kuberc error kuberc: no valid preferences found in unknown, use --v=5 to see details\n",
    )
  })

  test("are off where a variable says so", async () => {
    const files = { krc: FILES.kuberc }
    const off = await c.kubectl("crns", { files, env: { KUBERC: "off" } })
    expect(off.stderr).toStartWith('error: unknown command "crns" for "kubectl"')
    const gone = await c.kubectl("kuberc view", { files, env: { KUBECTL_KUBERC: "false" } })
    expect(gone.stderr).toStartWith('error: unknown command "kuberc" for "kubectl"')
    const found = await c.kubectl("getn default -o name", { files, env: { KUBERC: "krc" } })
    expect(found.stdout).toBe("namespace/default\n")
  })

  test("let no program give credentials that they do not allow", async () => {
    const started: string[] = []
    const program = (name: string) => {
      started.push(name)
      return { code: 1 }
    }
    const errorsBy = async (policy: string) => {
      const krc = `apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n${policy}`
      const files = { krc, config: KUBECONFIG }
      return (await c.kubectl("get --raw /api --kubeconfig config --kuberc krc", { files, program })).stderr
    }
    const start = "Unable to connect to the server: getting credentials:"
    expect(await errorsBy("credentialPluginPolicy: DenyAll\n")).toBe(
      `${start} plugin "helper" not allowed: policy set to "DenyAll"\n`,
    )
    const only = (command: string) =>
      `credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{command: ${command}}]\n`
    expect(await errorsBy(only("other"))).toStartWith(`${start} plugin path "helper" cannot be resolved`)
    expect(started).toEqual([])
    expect(await errorsBy(only("helper"))).toBe(`${start} exec: executable helper failed with exit code 1\n`)
    expect(started).toEqual(["helper"])
  })
})
