/** Common commands of users, with each real kubectl version that is there, against a cluster in this process. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startCluster, type Cluster } from "../cluster/testing/testing.ts"
import { findKubectls } from "../../test/kubectls.ts"

const kubectls = findKubectls()
if (kubectls.length === 0) console.warn("SKIPPED: no kubectl on the PATH, so the API is not tried with the real one")

const home = mkdtempSync(join(tmpdir(), "kubectl-"))
const manifest = join(home, "web.yaml")
let cluster: Cluster

beforeAll(async () => {
  cluster = await startCluster({ clock: "real", components: { controllers: false, scheduler: false } })
  writeFileSync(join(home, "config"), (await cluster.listen()).kubeconfig, { mode: 0o600 })
  writeFileSync(
    manifest,
    `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, labels: { app: web } }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: "web:1", ports: [{ containerPort: 80 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`,
  )
})
afterAll(async () => {
  await cluster.stop()
  rmSync(home, { recursive: true, force: true })
})

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

describe.each(kubectls)("kubectl %s", (version, path) => {
  const namespace = `with-${version.replaceAll(".", "-")}`
  const run = (args: string, more: readonly string[] = []): Promise<Ran> =>
    new Promise((resolve) => {
      execFile(
        path,
        [
          "--kubeconfig",
          join(home, "config"),
          "--cache-dir",
          join(home, `cache-${version}`),
          "--namespace",
          namespace,
          ...args.split(" "),
          ...more,
        ],
        { env: { ...process.env, HOME: home }, timeout: 20_000 },
        (err, out, errors) =>
          resolve({ code: err === null ? 0 : typeof err.code === "number" ? err.code : 1, out, err: errors }),
      )
    })
  const ok = async (args: string, more?: readonly string[]): Promise<string> => {
    const { code, out, err } = await run(args, more)
    expect({ args, code, err: code === 0 ? "" : err }).toEqual({ args, code: 0, err: "" })
    return out
  }

  test("creates a namespace", async () => {
    expect(await ok(`create namespace ${namespace}`)).toBe(`namespace/${namespace} created\n`)
  })

  test("applies, shows, changes and deletes the objects of a manifest", async () => {
    expect(await ok(`apply -f ${manifest}`)).toBe("deployment.apps/web created\nservice/web created\n")
    expect(await ok(`apply -f ${manifest}`)).toBe("deployment.apps/web unchanged\nservice/web unchanged\n")
    expect(await ok("get deploy")).toMatch(/^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/3 /)
    expect(await ok("get deploy,svc -o name")).toBe("deployment.apps/web\nservice/web\n")
    await ok("scale deploy web --replicas=5")
    await ok("set image deploy/web c=web:2")
    await ok("label deploy web tier=front")
    expect(
      await ok(
        "get deploy web -o jsonpath={.spec.replicas}:{.spec.template.spec.containers[0].image}:{.metadata.labels.tier}",
      ),
    ).toBe("5:web:2:front")
    await ok("patch svc web --type=json -p", ['[{"op":"add","path":"/spec/ports/0/name","value":"http"}]'])
    await ok("patch svc web --type=merge -p", ['{"metadata":{"annotations":{"a":"b"}}}'])
    expect(await ok("get svc web -o yaml")).toContain("  - name: http\n    port: 80\n")
    expect(await ok("describe svc web")).toMatch(/Name: +web\n/)
    expect(await ok(`apply --dry-run=server -f ${manifest}`)).toContain("(server dry run)")
    expect(await ok(`apply --server-side --force-conflicts -f ${manifest}`)).toContain(
      "deployment.apps/web serverside-applied\n",
    )
    expect(await ok("get deploy -l app=web --field-selector metadata.name=web -o name")).toBe("deployment.apps/web\n")
    expect(await ok(`delete -f ${manifest}`)).toMatch(/deployment.apps "web" deleted/)
    expect((await run("get deploy web")).err).toBe('Error from server (NotFound): deployments.apps "web" not found\n')
  }, 60_000)

  test("creates objects, explains and lists kinds, and prints the server's errors", async () => {
    const name = "made"
    expect(await ok(`create configmap ${name} --from-literal=a=b`)).toBe(`configmap/${name} created\n`)
    expect((await run(`create configmap ${name}`)).err).toContain(`configmaps "${name}" already exists`)
    expect((await run("create configmap Not_A_Name")).err).toContain("metadata.name: Invalid value")
    expect(await ok("explain deployment.spec.replicas")).toContain("replicas <integer>")
    expect(await ok("api-resources -o name")).toContain("deployments.apps\n")
    expect(await ok("version --output json")).toContain('"gitVersion": "v1.36.0+k3ts"')
    expect(await ok("auth can-i create deployments")).toBe("yes\n")
    expect((await run("auth can-i create deployments --as jane")).out).toBe("no\n")
    expect((await run("get pods --as jane")).err).toContain(
      `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "${namespace}"`,
    )
    writeFileSync(join(home, "bad.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: bad }\ndate: { a: b }\n")
    expect((await run(`create -f ${join(home, "bad.yaml")}`)).err).toMatch(/unknown field "date"/)
    await ok(`delete configmap ${name}`)
  }, 60_000)
})
