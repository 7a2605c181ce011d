import { describe } from "bun:test"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync } from "node:fs"
import { createConnection } from "node:net"
import { hostname, networkInterfaces } from "node:os"
import { join } from "node:path"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../pkg/pods/pod-state.ts"
import type { InputOfResource, KubeObject, KubeObjectInput, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Client } from "../../pkg/client/client.ts"
import { createHttpsTransport, type HttpsTransport } from "../../pkg/client/https.ts"
import { loadKubeconfig } from "../../pkg/client/kubeconfig.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import { Kubectl, run } from "./kubectl.ts"
import { machinesLack } from "./machine.ts"
import { EXECUTABLE, startServer, type TestServer, type TestServerOptions } from "./server.ts"

export const BUSYBOX = "k3ts.local/busybox:1"
export const WEB = "k3ts.local/web:1"

export type PodSpec = NonNullable<InputOfResource<typeof Pod>["spec"]>
export type ContainerSpec = PodSpec["containers"][number]

/** What this machine lacks to run a node; empty if nothing. */
function missing(): readonly string[] {
  const found = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0
  return [
    ...(process.getuid?.() === 0 ? [] : ["root"]),
    ...["containerd", "runc", "iptables", "nft", "conntrack", "kubectl", "curl", "script"].filter(
      (program) => !found(program),
    ),
    ...(existsSync(EXECUTABLE) ? [] : [`${EXECUTABLE} (hack/build.sh makes it)`]),
  ]
}

/** Returns this machine's rules for Services as text, in both modes of kube-proxy. The text names the Services. */
export const serviceRules = async (): Promise<string> =>
  (await Promise.all([run("iptables-save", []), run("nft", ["list", "ruleset", "ip"])]))
    .map(({ out }) => out)
    .join("\n")

/** Whether this machine has an address of IPv6 by which a node can be reached. */
export const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ family, internal, address }) => family === "IPv6" && !internal && !address.startsWith("fe80:")),
)

/** A `describe` that is skipped, with the reason in a log line, where no node can run. */
export const describeOnNode = (title: string, body: () => void): void => describeWith(missing(), title, body)

/** The same for nodes on machines of machine.ts. */
export const describeOnMachines = (title: string, body: () => void): void =>
  describeWith([...missing(), ...machinesLack()], title, body)

function describeWith(lacks: readonly string[], title: string, body: () => void): void {
  if (lacks.length > 0) console.warn(`!!! SKIPPED: ${title}: needs ${lacks.join(", ")}`)
  describe.skipIf(lacks.length > 0)(title, body)
}

/** A whole cluster on this machine: `dist/k3ts server` with a node, and clients of it. */
export interface Cluster extends AsyncDisposable {
  readonly server: TestServer
  readonly client: Client
  readonly kubectl: Kubectl
  /** Another kubectl for the same cluster. */
  kubectlOf(path: string): Kubectl
  create<T extends KubeObject, I extends KubeObjectInput>(resource: Resource<T, I>, object: I): Promise<T>
  /** Creates a pod in the default namespace. */
  createPod(
    name: string,
    spec: Partial<PodSpec> & Pick<PodSpec, "containers">,
    metadata?: InputOfResource<typeof Pod>["metadata"],
  ): Promise<Pod>
  /**
   * Resolves with the first state of an object for which `wanted` holds; `undefined` is its absence. @throws Error with
   * the last state seen
   */
  until<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    name: string,
    wanted: (object: T) => boolean,
    namespace?: string,
  ): Promise<T>
  gone<T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    name: string,
    namespace?: string,
  ): Promise<void>
  pod(name: string, wanted?: (pod: Pod) => boolean): Promise<Pod>
  /** Creates a pod and waits until it is ready. */
  runPod(
    name: string,
    spec: Partial<PodSpec> & Pick<PodSpec, "containers">,
    metadata?: InputOfResource<typeof Pod>["metadata"],
  ): Promise<Pod>
  /** Runs a pod of one container to its end and returns its output. */
  output(name: string, container: Partial<ContainerSpec>, spec?: Partial<PodSpec>): Promise<string>
  log(name: string, query?: string): Promise<string>
}

const LIMIT_MS = 30_000

/**
 * Starts a cluster, which has the images of the examples. Only one node can run on this host, since its network and its
 * runtime folder are the host's; every machine of machine.ts can have one. `limitMs` is how long what waits for an
 * object waits, in milliseconds: 30 s, unless something else keeps the machine busy.
 * @throws Error when one runs already
 */
export async function startCluster({
  flags = [],
  dataDir,
  machine,
  program,
  limitMs = LIMIT_MS,
}: Pick<TestServerOptions, "flags" | "dataDir" | "machine" | "program"> & {
  readonly limitMs?: number
} = {}): Promise<Cluster> {
  if (machine === undefined && (await answers("/run/k3ts/containerd/containerd.sock")))
    throw new Error("Another node of k3ts runs on this machine: end it first, with k3ts killall")
  const server = await startServer({
    agent: true,
    flags,
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(machine === undefined ? {} : { machine }),
    ...(program === undefined ? {} : { program }),
  })
  const cluster = connect(server, limitMs)
  try {
    await cluster.until(
      Node,
      machine?.name ?? hostname().toLowerCase(),
      ({ status }) => status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true,
    )
  } catch (err) {
    await cluster[Symbol.asyncDispose]()
    throw err
  }
  return cluster
}

/** The clients of a running server. */
function connect(server: TestServer, limitMs: number): Cluster {
  const transport: HttpsTransport = createHttpsTransport({
    config: loadKubeconfig(server.kubeconfig),
    userAgent: "k3ts-test/1",
  })
  const client = newClient(transport)
  const home = mkdtempSync(join(server.dataDir, "kubectl-"))
  const kubectlOf = (path: string) =>
    new Kubectl({ path, kubeconfig: server.kubeconfig, home: mkdtempSync(join(home, "home-")) })

  const watched = <T extends KubeObject, I extends KubeObjectInput>(
    resource: Resource<T, I>,
    name: string,
    namespace: string,
    wanted: (object: T | undefined) => boolean,
  ): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      let last: T | undefined
      const finish = (settle: () => void) => {
        clearTimeout(timer)
        watch.close()
        settle()
      }
      const look = (object: T | undefined) => {
        last = object
        if (wanted(object)) finish(() => resolve(object))
      }
      const timer = setTimeout(
        () =>
          finish(() =>
            reject(
              new Error(
                `${resource.kind} ${name} is not as wanted after ${limitMs / 1000} s: ` +
                  `${JSON.stringify(last === undefined ? "absent" : "status" in last ? last.status : last, undefined, 1)}\n` +
                  `${server.output().slice(-3000)}`,
              ),
            ),
          ),
        limitMs,
      )
      const scope = resource.scope === "Namespaced" ? { namespace } : {}
      const watch = client.watch(
        resource,
        { ...scope, fieldSelector: `metadata.name=${name}` },
        {
          onEvent: (event) => {
            if (event.type === "DELETED") look(undefined)
            else if (event.type === "ADDED" || event.type === "MODIFIED") look(event.object)
          },
          onEnd: (error) =>
            finish(() =>
              reject(new Error(`The watch of ${resource.kind} ${name} ended: ${error?.message ?? "no reason given"}`)),
            ),
        },
      )
      // A watch tells nothing of what is not there.
      client.get(resource, { name, ...scope }).catch((err: unknown) => {
        if (String(err).includes("not found") && last === undefined && wanted(undefined))
          finish(() => resolve(undefined))
      })
    })

  const cluster: Cluster = {
    server,
    client,
    kubectl: kubectlOf("kubectl"),
    kubectlOf,
    create: (resource, object) => client.create(resource, object),
    createPod: (name, spec, metadata = {}) =>
      client.create(Pod, { metadata: { namespace: "default", ...metadata, name }, spec }),
    until: async (resource, name, wanted, namespace = "default") =>
      (await watched(resource, name, namespace, (object) => object !== undefined && wanted(object)))!,
    gone: async (resource, name, namespace = "default") =>
      void (await watched(resource, name, namespace, (object) => object === undefined)),
    pod: (name, wanted = isPodReady) => cluster.until(Pod, name, wanted),
    async runPod(name, spec, metadata) {
      await cluster.createPod(name, spec, metadata)
      return cluster.pod(name)
    },
    async output(name, container, spec = {}) {
      await cluster.createPod(name, {
        restartPolicy: "Never",
        ...spec,
        containers: [{ name: "c", image: BUSYBOX, ...container }],
      })
      await cluster.pod(name, ({ status }) => status.phase === "Succeeded" || status.phase === "Failed")
      return cluster.log(name)
    },
    async log(name, query = "") {
      const { status, body } = await server.get(`/api/v1/namespaces/default/pods/${name}/log${query}`)
      if (status !== 200) throw new Error(`The log of ${name} cannot be read: ${status} ${body.toString()}`)
      return body.toString()
    },
    async [Symbol.asyncDispose]() {
      transport.close()
      await server[Symbol.asyncDispose]()
    },
  }
  return cluster
}

/** Returns a shell command that runs a script and then waits for SIGTERM, on which it exits at once. */
export const stay = (script = "true"): string[] => [
  "sh",
  "-c",
  `trap 'exit 0' TERM\n${script}\nwhile :; do sleep 3600 & wait $!; done`,
]
export const sh = (script: string): string[] => ["sh", "-c", script]

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once("connect", () => (socket.destroy(), resolve(true)))
    socket.once("error", () => resolve(false))
  })
}
