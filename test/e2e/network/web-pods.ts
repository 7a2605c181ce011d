import { afterAll, beforeAll } from "bun:test"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import { BUSYBOX, serviceRules, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"

/** The pod that sends requests. */
export const CLIENT = "client"

/**
 * Two web servers and a client in pods of a cluster, for the tests of a file. Call it in `describe`; `started` has the
 * cluster once the tests run.
 */
export function webPods() {
  let cluster: Cluster
  let nodeIp: string
  const pods = new Map<string, string>()
  const names = ["a", "b"] as const
  /** Runs a shell command in the client pod and returns its output. */
  const inside = (script: string) => cluster.kubectl.sh(CLIENT, script)
  const wget = (url: string) => inside(`timeout 5 wget -q -O - http://${url}/`)
  const curl = async (url: string) => (await run("curl", ["-s", "-m", "3", `http://${url}/`])).out
  const service = (name: string, spec: NonNullable<InputOfResource<typeof Service>["spec"]>) =>
    cluster.create(Service, {
      metadata: { name, namespace: "default" },
      spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...spec },
    })
  /** Resolves when kube-proxy has written a rule that contains `text`, or has none any more. */
  const rules = async (text: string, there = true) => {
    const deadline = performance.now() + 10_000
    while ((await serviceRules()).includes(text) !== there) {
      if (performance.now() > deadline)
        throw new Error(
          `After 10 s ${text} is ${there ? "not yet" : "still"} in the rules:\n` + `${await serviceRules()}`,
        )
      await Bun.sleep(20)
    }
  }
  /** Returns the name of the pod that answers each of `count` requests. */
  const whoAnswers = async (ask: () => Promise<string>, count = 12) =>
    new Set((await Promise.all(Array.from({ length: count }, ask))).map((answer) => answer.trim()))

  beforeAll(async () => {
    cluster = await startCluster({ flags: ["--service-node-port-range", "30000-30100"] })
    const server = (name: string) =>
      cluster.runPod(
        name,
        {
          hostname: name,
          subdomain: "headless",
          containers: [
            {
              name: "c",
              image: WEB,
              command: stay(`echo ${name} > /www/index.html; httpd -p 80 -h /www`),
              ports: [{ name: "http", containerPort: 80 }],
              readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
            },
          ],
        },
        { labels: { app: "web", name } },
      )
    const started = await Promise.all([
      ...names.map(server),
      cluster.runPod(CLIENT, { containers: [{ name: "c", image: BUSYBOX, command: stay() }] }),
    ])
    for (const pod of started) pods.set(pod.metadata.name!, pod.status.podIP!)
    nodeIp = started[0]!.status.hostIP!
  }, 60_000)
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  return {
    started: () => ({ cluster, nodeIp }),
    /** Addresses of the pods by their names. */
    pods,
    /** The web servers, each of which answers with its name. */
    names,
    inside,
    wget,
    curl,
    service,
    rules,
    whoAnswers,
  }
}
