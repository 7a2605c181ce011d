/** The container image of a release, in the containerd of a node. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { describeOnNode, startCluster, type Cluster } from "../harness/cluster.ts"
import { run } from "../harness/kubectl.ts"
import { EXECUTABLE } from "../harness/server.ts"
import { released, VERSION } from "./dist.ts"

const IMAGE = `k3ts.local/k3ts:${VERSION}`

describeOnNode("the container image of k3ts", () => {
  let cluster: Cluster
  beforeAll(async () => void (cluster = await startCluster()))
  afterAll(async () => cluster?.[Symbol.asyncDispose]())
  const images = (...args: string[]) => run(EXECUTABLE, ["images", ...args, "--data-dir", cluster.server.dataDir])

  test.each([`k3ts-${VERSION}-amd64.oci.tar`, `k3ts-${VERSION}.oci.tar`])(
    "is imported from %s, and runs",
    async (name) => {
      // given
      expect(await images("import", released(name))).toEqual({ code: 0, out: `${IMAGE}\n`, err: "" })
      // then
      expect(await cluster.output("version", { image: IMAGE, command: [], args: ["version"] })).toContain(
        `k3ts ${VERSION}`,
      )
      await cluster.client.delete(Pod, { name: "version", namespace: "default" })
      await cluster.gone(Pod, "version")
      expect(await images("remove", IMAGE)).toMatchObject({ code: 0 })
    },
    60_000,
  )

  test("serves the API in a pod", async () => {
    await images("import", released(`k3ts-${VERSION}.oci.tar`))
    const { status } = await cluster.runPod("server", {
      containers: [
        {
          name: "c",
          image: IMAGE,
          readinessProbe: { httpGet: { port: 6443, path: "/readyz", scheme: "HTTPS" }, periodSeconds: 1 },
        },
      ],
    })
    expect(status.phase).toBe("Running")
    await cluster.pod("server", ({ status }) =>
      (status.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True"),
    )
  }, 60_000)
})
