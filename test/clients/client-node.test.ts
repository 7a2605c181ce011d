/** The official client library for JavaScript, unchanged, on Bun. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parse } from "yaml"
import { kubeconfigYaml } from "../../pkg/pki/kubeconfig.ts"
import { startCluster, type Cluster } from "../../components/cluster/testing/cluster.ts"
import {
  BUSYBOX,
  describeOnNode,
  startCluster as startNode,
  stay,
  WEB,
  type Cluster as NodeCluster,
} from "../harness/cluster.ts"
import { run } from "../harness/kubectl.ts"

const PROGRAM = join(import.meta.dirname, "client-node.program.ts")
const home = mkdtempSync(join(tmpdir(), "k3ts-client-node-"))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const caOf = (kubeconfig: string): string => {
  const { clusters } = parse(kubeconfig) as { clusters: [{ cluster: { "certificate-authority-data": string } }] }
  return Buffer.from(clusters[0].cluster["certificate-authority-data"], "base64").toString()
}

async function works(step: string, kubeconfig: string): Promise<void> {
  const [config, ca] = [join(home, "config"), join(home, "ca.pem")]
  writeFileSync(config, kubeconfig)
  writeFileSync(ca, caOf(kubeconfig))
  const { code, err } = await run(process.execPath, [PROGRAM, step], {
    env: { ...process.env, KUBECONFIG: config, NODE_EXTRA_CA_CERTS: ca },
  })
  expect({ step, code, err: code === 0 ? "" : err }).toEqual({ step, code: 0, err: "" })
}

describe("@kubernetes/client-node", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1, clock: "real" })
    await cluster.listen()
  })
  afterAll(() => cluster[Symbol.asyncDispose]())

  test.each([
    ["creates, reads, lists in pages, replaces and deletes objects", "objects"],
    ["patches in every way, applies on the server, and works without knowing the kind", "patches"],
    ["watches", "watches"],
    ["keeps an informer up to date", "informers"],
  ])("%s", (_title, step) => works(step, cluster.kubeconfig), 30_000)
})

describeOnNode("@kubernetes/client-node on a node", () => {
  let cluster: NodeCluster
  let kubeconfig: string
  beforeAll(async () => {
    cluster = await startNode()
    const { server } = cluster
    // Bun's fetch shows no client certificate of a single request, so the administrator comes with the token.
    kubeconfig = kubeconfigYaml({
      server: `https://127.0.0.1:${server.port}`,
      caPem: caOf(readFileSync(server.kubeconfig, "utf8")),
      user: { token: server.token },
      name: "k3ts",
    })
    await cluster.runPod("web", {
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: "web", image: WEB },
        { name: "shell", image: BUSYBOX, command: stay("echo hello from the log") },
      ],
    })
  }, 60_000)
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  test.each([
    ["runs commands with input and output, and returns their exit codes", "exec"],
    ["forwards a port", "portForward"],
    ["follows logs", "logs"],
  ])("%s", (_title, step) => works(step, kubeconfig), 30_000)
})
