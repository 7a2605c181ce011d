/** kubectl in a pod: the lines are those of upstream's kubectl with the same files and variables. */
import { expect, test } from "bun:test"
import type { HttpRequest } from "../environment/connect.ts"
import type { Environment } from "../environment/environment.ts"
import { hostEnvironment } from "../environment/host-environment.ts"
import { runKubectl } from "../kubectl.ts"

const kubeconfig = (context: object): string =>
  JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context }],
    clusters: [{ name: "c", cluster: { server: "http://elsewhere" } }],
  })

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
const MOUNTED: Readonly<Record<string, string>> = {
  [`${FOLDER}/token`]: "token-of-the-pod",
  [`${FOLDER}/namespace`]: "ns1",
  "/home/.kube/config": "",
  "/with-server": kubeconfig({ cluster: "c" }),
  "/with-namespace": kubeconfig({ cluster: "c", namespace: "default" }),
}
const VERSION = {
  ...{ major: "1", minor: "36", gitVersion: "v1.36.0", gitCommit: "", gitTreeState: "", buildDate: "" },
  ...{ goVersion: "", compiler: "", platform: "linux/amd64" },
}

/** Runs `kubectl get pods` in a pod. Returns its first request, and what its log says about the pod. */
async function ran(...flags: readonly string[]) {
  const host = hostEnvironment({ name: "kubectl", kubeconfigs: [], version: VERSION })
  let text = ""
  const sent: HttpRequest[] = []
  const output = { ...host.stdout, write: (part: string | Uint8Array) => Promise.resolve(void (text += String(part))) }
  const environment: Environment = {
    ...host,
    variables: { KUBERNETES_SERVICE_HOST: "10.43.0.1", KUBERNETES_SERVICE_PORT: "443" },
    home: "/home",
    stdout: output,
    stderr: output,
    files: {
      ...host.files,
      stat: (path) =>
        Promise.resolve(
          MOUNTED[path] === undefined ? undefined : ({ isFile: true } as Awaited<ReturnType<typeof host.files.stat>>),
        ),
      read: (path) => Promise.resolve(new TextEncoder().encode(MOUNTED[path] ?? "")),
    },
    connect: {
      ...host.connect,
      send: (request) => {
        sent.push(request)
        return Promise.reject(new Error("unreachable"))
      },
    },
  }
  await runKubectl(["get", "pods", "-v=4", ...flags], environment)
  return {
    url: sent[0]?.url.origin,
    authorization: sent[0]?.headers["Authorization"],
    log: [...new Set(text.match(/(?<=Using in-cluster )\w+/g))].sort(),
  }
}

const [CONFIGURATION, NAMESPACE] = ["configuration", "namespace"]
test.each<[flags: readonly string[], url: string, authorization: string | undefined, log: readonly string[]]>([
  [[], "https://10.43.0.1", "Bearer token-of-the-pod", [CONFIGURATION, NAMESPACE]],
  [["--namespace=x"], "https://10.43.0.1", "Bearer token-of-the-pod", [CONFIGURATION]],
  [["--token=other"], "https://10.43.0.1", "Bearer other", [CONFIGURATION, NAMESPACE]],
  [["--username=a", "--password=b"], "https://10.43.0.1", "Bearer token-of-the-pod", [CONFIGURATION, NAMESPACE]],
  [["--as=jane"], "http://localhost:8080", undefined, [NAMESPACE]],
  [["--server=invalid"], "http://invalid", undefined, [NAMESPACE]],
  [["--kubeconfig=/with-server"], "http://elsewhere", undefined, [NAMESPACE]],
  [["--kubeconfig=/with-namespace"], "http://elsewhere", undefined, []],
])("in a pod, flags %j lead to %s as %s", async (flags, url, authorization, log) => {
  expect(await ran(...flags)).toEqual({ url, authorization, log: [...log] })
})
