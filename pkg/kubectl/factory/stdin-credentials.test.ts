/** Programs that give credentials, while the input of kubectl is a manifest. */
import { expect, test } from "bun:test"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { HttpRequest, HttpResponse } from "../environment/connect.ts"
import type { Environment } from "../environment/environment.ts"
import { hostEnvironment } from "../environment/host-environment.ts"
import { runKubectl } from "../kubectl.ts"

const V1 = "client.authentication.k8s.io/v1"
const OBJECT = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } }
const RESOURCES = [{ name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["create", "get"] }]
const ANSWERS: Readonly<Record<string, object>> = {
  "GET /api": { kind: "APIVersions", versions: ["v1"] },
  "GET /apis": { kind: "APIGroupList", groups: [] },
  "GET /api/v1": { kind: "APIResourceList", groupVersion: "v1", resources: RESOURCES },
  "GET /api/v1/namespaces/default/configmaps/a": OBJECT,
  "POST /api/v1/namespaces/default/configmaps": OBJECT,
}

async function send({ method, url }: HttpRequest): Promise<HttpResponse> {
  const found = ANSWERS[`${method} ${url.pathname}`]
  async function* body() {
    yield new TextEncoder().encode(JSON.stringify(found ?? {}))
  }
  const headers = { "content-type": "application/json" }
  return {
    ...{ status: found === undefined ? 404 : 200, headers, warnings: [], protocol: "HTTP/2.0", body: body() },
    cancel: () => undefined,
  }
}

const kubeconfig = (interactiveMode: string): string =>
  JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://server:6443" } }],
    users: [{ name: "u", user: { exec: { apiVersion: V1, command: "login", interactiveMode } } }],
  })

/** Runs kubectl at a terminal. `asked` says for each call of the program whether it could ask the user. */
async function ran(interactiveMode: string, ...args: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "kubectl-"))
  await writeFile(join(folder, "config"), kubeconfig(interactiveMode))
  const asked: unknown[] = []
  let text = ""
  const host = hostEnvironment({ name: "kubectl", kubeconfigs: [], version: VERSION })
  const output = { ...host.stdout, write: (part: string | Uint8Array) => Promise.resolve(void (text += String(part))) }
  const credential = { kind: "ExecCredential", apiVersion: V1, status: { token: "t" } }
  async function* input() {
    yield new TextEncoder().encode(JSON.stringify(OBJECT))
  }
  const environment: Environment = {
    ...host,
    variables: { KUBECONFIG: join(folder, "config") },
    home: folder,
    stdin: { isTerminal: true, setRaw: () => undefined, [Symbol.asyncIterator]: input },
    stdout: output,
    stderr: output,
    connect: { ...host.connect, send },
    programs: {
      ...host.programs,
      run: ({ variables }) => {
        asked.push(JSON.parse(variables!["KUBERNETES_EXEC_INFO"]!).spec.interactive)
        return Promise.resolve({ code: 0, stdout: JSON.stringify(credential), stderr: "" })
      },
    },
  }
  try {
    const code = await runKubectl(args, environment)
    return { code, text, asked }
  } finally {
    await rm(folder, { recursive: true })
  }
}

const VERSION = {
  ...{ major: "1", minor: "36", gitVersion: "v1.36.0", gitCommit: "", gitTreeState: "", buildDate: "" },
  ...{ goVersion: "", compiler: "", platform: "linux/amd64" },
}

test("a program that must ask the user cannot while the input is a manifest", async () => {
  const create = ["create", "-f", "-", "--validate=false"]
  const { code, text } = await ran("Always", ...create)
  expect(text).toEndWith(
    "getting credentials: exec plugin cannot support interactive mode: standard input is unavailable: used by stdin resource manifest reader\n",
  )
  expect(code).toBe(1)
  expect((await ran("IfAvailable", ...create)).asked).toEqual([true, false])
})

test("a program may ask the user where nothing else reads the input", async () => {
  const { text, asked } = await ran("Always", "get", "configmap", "a", "-o", "name")
  expect({ text, asked }).toEqual({ text: "configmap/a\n", asked: [true] })
})
