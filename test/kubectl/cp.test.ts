import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { steps } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
  const containers = ["a", "b"].map((name) => ({ name, image: "busybox", command: ["sleep", "9999"] }))
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "two" }, spec: { containers } }
  await c.kubectl("create -f -", { stdin: JSON.stringify(pod) })
  await c.advance("10s")
})
afterAll(() => c.stop())

/** What kubectl 1.36.2 says of them. */
describe("kubectl cp", () => {
  steps(
    "refuses what it cannot copy",
    () => c,
    [
      ["cp", "error: source and destination are required\n", 1],
      ["cp a", "error: source and destination are required\n", 1],
      ["cp a b", "error: one of src or dest must be a remote file specification\n", 1],
      ["cp two:/a two:/b", "error: one of src or dest must be a local file specification\n", 1],
      ["cp two: b", "error: filepath can not be empty\n", 1],
      ["cp a/b/c:d b", "error: filespec must match the canonical format: [[namespace/]pod:]file/path\n", 1],
      ["cp none two:/t", "error: none doesn't exist in local filesystem\n", 1],
      ["cp a nopod:/t", 'Error from server (NotFound): pods "nopod" not found\n', 1],
      ["cp nopod:/t a", 'Error from server (NotFound): pods "nopod" not found\n', 1],
      ["cp a two:/t -c c", "error: container c is not valid for pod two out of: a, b\n", 1],
      ["cp two:/t a -c c", "error: container c is not valid for pod two out of: a, b\n", 1],
    ],
    { a: "content\n" },
  )
})
