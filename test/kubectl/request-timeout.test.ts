/** `--request-timeout`: what is taken for one, and what commands say of requests that take longer. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { apiServer, kubectl } from "./loopback.fixtures.ts"

const FILES = { "one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n" }
const INVALID =
  "error: Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h)\n"

describe("the value of --request-timeout", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 0 })
    await cluster.kubectl("create configmap one")
  })
  afterAll(() => cluster.stop())

  test.each(["5", "+5", "05", "-0", "0", "1.5s", "1h30m", "-1s", "99999999999"])("may be %s", async (value) => {
    const { code, stdout, stderr } = await cluster.kubectl(`get cm one -o name --request-timeout=${value}`)
    expect([code, stdout, stderr]).toEqual([0, "configmap/one\n", ""])
  })

  test.each(["abc", "1x", "-1", "1.5", "99999999999999999999"])("cannot be %s", async (value) => {
    const { code, stdout, stderr } = await cluster.kubectl(`get cm one -o name --request-timeout=${value}`)
    expect([code, stdout, stderr]).toEqual([1, "", INVALID])
  })

  test.each(["apply -f one.yaml", "create -f one.yaml", "replace -f one.yaml", "edit -f one.yaml"])(
    "is what %s fails by, and not the object of the file",
    async (command) => {
      const { code, stderr } = await cluster.kubectl(`${command} --request-timeout=abc`, { files: FILES })
      expect([code, stderr]).toEqual([1, INVALID])
    },
  )
})

const VERBS = ["get", "list", "watch", "create"]

/** A server that never answers about config maps; the limit of a request ends when that has come. */
async function ranOut(command: string) {
  const limits = new Set<() => void>()
  const never = () => limits.forEach((run) => run())
  await using server = await apiServer({
    "GET /api": { kind: "APIVersions", versions: ["v1"] },
    "GET /apis": { kind: "APIGroupList", groups: [] },
    "GET /api/v1": {
      ...{ kind: "APIResourceList", groupVersion: "v1" },
      resources: [{ name: "configmaps", kind: "ConfigMap", singularName: "configmap", namespaced: true, verbs: VERBS }],
    },
    "GET /api/v1/namespaces/default/configmaps/a": never,
    "GET /api/v1/namespaces/default/configmaps": never,
    "POST /api/v1/namespaces/default/configmaps": never,
  })
  return await kubectl(server.port, `${command} --request-timeout=7s`, undefined, (run) => {
    limits.add(run)
    return { cancel: () => void limits.delete(run) }
  })
}

describe("a request that is not answered in time", () => {
  test.each([
    ["get configmaps", "Unable to connect to the server: context deadline exceeded\n"],
    ["get configmap a", "Unable to connect to the server: context deadline exceeded\n"],
    ["delete configmap --all", "Unable to connect to the server: context deadline exceeded\n"],
    [
      "create configmap a",
      `error: failed to create configmap: Post "http://127.0.0.1:PORT/api/v1/namespaces/default/configmaps?fieldManager=kubectl-create&fieldValidation=Strict&timeout=7s": context deadline exceeded\n`,
    ],
    ["wait configmap/a --for=delete --timeout=30s", "Unable to connect to the server: context deadline exceeded\n"],
    ["wait configmap/a --for=create --timeout=30s", "error: timed out waiting for the condition\n"],
  ])("ends %s in kubectl's words", async (command, said) => {
    const { code, stdout, stderr } = await ranOut(command)
    expect([code, stdout, stderr]).toEqual([1, "", said])
  })
})
